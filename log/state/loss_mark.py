"""The file that says that a log may have lost something when it was opened, and that the controller process has not heard of it yet.

    headrace.lost   empty. Kafka doesn't read it

Opening a log cuts what is damaged, and the next opening finds a whole log. If the owner dies in between, no other
process knows: the replica
would count as one that has everything (docs/decisions/013). So the file is made, durably, before anything is cut.

    made      before damaged batches are cut, or segments put aside. Not for a torn end that was never acknowledged: after what an owner
              of this boot had published, or of a log each of whose appends was synced before its answer (`synced_mark.py`). And
              where no checkpoint says how far a log in a suspect directory had come
    removed   once the controller process has answered. A crash of the machine may bring it back: then a loss is told twice

Where there is no room for it the log is opened all the same, as what frees room must not need any.

Runs in: the partition worker that owns the log, which alone writes it.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from headrace.errors import is_exhausted
from headrace.log.disk import Disk

LOSS_FILE: Final = "headrace.lost"

_log: Final = logging.getLogger(__name__)


class LossMark:
    """Of one log.

    is_set   whether the file is there
    """

    __slots__ = ("_disk", "_path", "is_set")

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / LOSS_FILE
        self._disk = disk
        self.is_set = self._path.exists()

    def make(self) -> None:
        """Something of the log is about to go. Durable, where there is room. raises OSError"""
        if self.is_set:
            return
        try:
            os.close(self._disk.open(self._path, os.O_WRONLY | os.O_CREAT))
            self.is_set = True
            self._disk.sync_directory(self._path.parent)
        except OSError as failure:
            if not is_exhausted(failure):
                raise
            _log.warning(
                "a possible loss could not be recorded on disk; if this process ends now, it will not be reported path=%s reason=%s",
                self._path,
                failure,
            )

    def remove(self) -> None:
        """It was reported. raises OSError"""
        if self.is_set:
            self._disk.remove_file(self._path)
            self.is_set = False
