"""Why a log is out of service. The first failure of its disk stays: each call after it gets the same answer.

A failed write may have left half a batch, a failed fsync is final (the kernel may have dropped the pages): what is on disk
is as the last success left it, or what recovery makes of it when the log is opened again.

Runs in: the partition worker that owns the log.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from headrace.errors import HeadraceError, LogDamaged, StorageExhausted, StorageFailed
from headrace.log.disk import storage_failure


class FailureLatch:
    """The failure of one log. All of its parts have it: each asks before it begins, and tells what went wrong.

    reason    None: in service
    is_torn   what failed left a list of segments that is not the one on disk
    """

    __slots__ = ("_directory", "is_torn", "reason")

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.reason: StorageFailed | None = None
        self.is_torn = False

    def check(self) -> None:
        """raises StorageFailed, where the log is out of service"""
        if self.reason is not None:
            raise self.reason.with_traceback(None)

    def check_removal(self) -> None:
        """The same, for what frees room: a log that lacked nothing else may lose segments. raises StorageFailed"""
        if self.is_torn or not isinstance(self.reason, StorageExhausted):
            self.check()

    def fail(self, what: str, failure: OSError, *, is_sync: bool = False, is_torn: bool = False) -> NoReturn:
        """Take the log out of service; raises StorageFailed.

        is_sync   of a flush: final whatever the reason
        is_torn   it may have been half done
        """
        self.is_torn = self.is_torn or is_torn
        self.reason = storage_failure(f"{self._directory}: {what}", failure, is_sync=is_sync)
        raise self.reason from None

    def fail_damaged(self, what: str, failure: HeadraceError, *, is_torn: bool = False) -> NoReturn:
        """The same, for what is wrong in the log's own files: that says nothing of its directory. raises LogDamaged"""
        self.is_torn = self.is_torn or is_torn
        known = failure if isinstance(failure, StorageFailed) else LogDamaged(f"{self._directory}: {what}: {failure}")
        self.reason = known
        raise known from None
