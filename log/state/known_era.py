"""The era of leader epochs that a log was last known to be of, though no batch of it may say so.

    headrace.era   `0`, `1`, then a leader epoch: the format of Kafka's checkpoints, which Kafka doesn't read

An era is one history of a partition (`headrace/leader_eras.py`). A follower's high watermark counts within the era in which it was taken:
a leader of a later era may have it truncated below, any other may not (decision 015). The batches of a partition that is idle say
nothing of eras that began since, and `leader-epoch-checkpoint` neither, where others led in them. A state of an earlier era is of the
past, too.

    noted     under a leader whose log was found to be the same, as soon as that is found; and before epochs are dropped of a log
              that led in an era and wrote nothing. Durable where the era is a later one: once an era for each log. Within an
              era it is noted in memory alone, for no decision goes by that after a restart
    removed   never: it goes with the log's directory

The file of epochs can't say it: an entry there is where a later epoch begins, so it can't stand before batches of an earlier one.

Runs in: the partition worker that owns the log, which alone writes it.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from headrace.errors import is_exhausted
from headrace.ids import NO_EPOCH
from headrace.leader_eras import era_of
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import EPOCH_MAX, BadCheckpoint, is_number, read_lines, write_lines

ERA_FILE: Final = "headrace.era"

_log: Final = logging.getLogger(__name__)


class KnownEra:
    """Of one log.

    epoch   the latest leader epoch that was noted; -1: none
    owing   those of a process's logs whose file waits for room; this one is in it, or not
    """

    __slots__ = ("_disk", "_durable_epoch", "_owing", "_path", "epoch")

    def __init__(self, directory: Path, disk: Disk, owing: set[Path] | None = None) -> None:
        self._path = directory / ERA_FILE
        self._disk = disk
        self._owing: set[Path] = set() if owing is None else owing
        self.epoch = self._durable_epoch = self._read()

    @property
    def is_owed(self) -> bool:
        """Whether the file says an earlier era than is known."""
        return self._path in self._owing

    def note(self, epoch: int) -> None:
        """The log is of this leader epoch's history. Where that is a later era it is durable, or owed for want of room. raises OSError"""
        is_tried = epoch <= self.epoch or (self.is_owed and era_of(epoch) <= era_of(self.epoch))
        self.epoch = max(self.epoch, epoch)
        if not is_tried:
            self._write()

    def write_owed(self) -> None:
        """Try again what is owed. raises OSError"""
        if self.is_owed:
            self._write()

    def abandon(self) -> None:
        """The log is closed: its directory may be another's."""
        self._owing.discard(self._path)

    def _write(self) -> None:
        """Where the era is later than the file's."""
        if era_of(self.epoch) <= era_of(self._durable_epoch):
            return
        try:
            write_lines(self._path, [str(self.epoch)], self._disk)
        except OSError as failure:
            if not is_exhausted(failure):
                raise
            if not self.is_owed:
                _log.warning(
                    "era of leader epochs not written, retried later path=%s epoch=%d reason=%s",
                    self._path, self.epoch, failure,
                )  # fmt: skip
            self._owing.add(self._path)
            return
        self._durable_epoch = self.epoch
        if self.is_owed:
            self._owing.discard(self._path)
            _log.info("era of leader epochs written path=%s epoch=%d", self._path, self.epoch)

    def _read(self) -> int:
        try:
            lines = read_lines(self._path)
            if not lines:
                return NO_EPOCH
            if len(lines) > 1 or not is_number(lines[0], EPOCH_MAX):
                raise BadCheckpoint(f"{self._path}: {lines[0][:100]!r} is not one leader epoch")
        except BadCheckpoint as failure:
            _log.warning("era of leader epochs unknown reason=%s", failure)
            return NO_EPOCH
        return int(lines[0])
