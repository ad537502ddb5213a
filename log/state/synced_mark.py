"""The file that says that each append of a log was synced before it was answered, since the log began or was flushed as a whole.

    headrace.synced   empty. Kafka doesn't read it

Settings are as they are now; what was acknowledged was so by those of then. After a crash of the machine this file is what says whether
the log may lack something that was acknowledged (docs/decisions/013).

    made      with a log that begins under `headrace.flush.before.ack`; else after the first flush before the answer to an append
              under it. Never by an opening, nor by a new setting: whether the log lacks something is still to be judged then
    removed   and its directory synced, before the first append that is not synced; and where a log is opened of which nothing counts as
              synced (`truncation_mark.py`): one that was put aside and has its name back lacks what another one acknowledged meanwhile

A crash may take a file that was just made: the log then counts as one that may lack something. It never brings one back.

Runs in: the partition worker that owns the log, which alone writes it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from headrace.log.disk import Disk

SYNCED_FILE: Final = "headrace.synced"


class SyncedMark:
    """Of one log.

    is_set   whether the file is there
    """

    __slots__ = ("_disk", "_path", "is_set")

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / SYNCED_FILE
        self._disk = disk
        self.is_set = self._path.exists()

    def make(self, *, is_durable: bool) -> None:
        """All that is in the log is synced. raises OSError

        is_durable   else its name is synced with the next one of the directory
        """
        os.close(self._disk.open(self._path, os.O_WRONLY | os.O_CREAT))
        self.is_set = True
        if is_durable:
            self._disk.sync_directory(self._path.parent)

    def remove(self) -> None:
        """Before an append that is not synced. raises OSError"""
        self._disk.remove_durably(self._path)
        self.is_set = False
