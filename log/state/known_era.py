"""The era of leader epochs that a log was last known to be of, though no batch of it may say so.

    headrace.era   `0`, `1`, then a leader epoch: the format of Kafka's checkpoints, which Kafka doesn't read

An era is one history of a partition (`headrace/leader_eras.py`). A follower's high watermark counts within the era in which it was taken:
a leader of a later era may have it truncated below, any other may not (decision 015). The batches of a partition that is idle say
nothing of eras that began since, and `leader-epoch-checkpoint` neither, where others led in them. A state of an earlier era is of the
past, too.

    noted     under a leader whose log was found to be the same, before its first answer is applied; and before epochs are dropped of a log
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
    """

    __slots__ = ("_disk", "_durable_epoch", "_path", "epoch")

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / ERA_FILE
        self._disk = disk
        self.epoch = self._durable_epoch = self._read()

    def note(self, epoch: int) -> None:
        """The log is of this leader epoch's history. Durable where that is a later era, and there is room. raises OSError"""
        if epoch <= self.epoch:
            return
        self.epoch = epoch
        if era_of(epoch) <= era_of(self._durable_epoch):
            return
        try:
            write_lines(self._path, [str(epoch)], self._disk)
        except OSError as failure:
            if not is_exhausted(failure):
                raise
            _log.warning(
                "era of leader epochs not written to disk path=%s epoch=%d reason=%s", self._path, epoch, failure
            )
            return
        self._durable_epoch = epoch

    def _read(self) -> int:
        try:
            lines = read_lines(self._path)
            if not lines:
                return NO_EPOCH
            if len(lines) > 1 or not is_number(lines[0], EPOCH_MAX):
                raise BadCheckpoint(f"{self._path}: {lines[0][:100]!r} is not one leader epoch")
        except BadCheckpoint as failure:
            _log.warning("era of leader epochs not known reason=%s", failure)
            return NO_EPOCH
        return int(lines[0])
