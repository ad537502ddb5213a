"""Logs that were opened, reported to the controller: it holds replicas that may have lost what they acknowledged (decision 013).

Runs in: a partition worker. Each log is reported once, with the high watermark that was known of it before; what is not answered is
reported again. A log that ends before that mark lost something: its replica takes no role before the controller has answered, and
so has said what follows in a view. Where there is no log at all, none is made before that.

The next owner finds a whole log where this one has cut it, and a mark where there was none. So what speaks against a log is in a file
of its directory until the controller has answered (`log/state/loss_mark.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from headrace.errors import ErrorCode, StorageFailed
from headrace.ids import NO_EPOCH, PartitionKey
from headrace.limits import OPENED_LOGS_PER_REQUEST_MAX
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import (
    LOG_HAS_NO_MARK,
    LOG_IS_MISSING,
    LOG_IS_WHOLE,
    LOG_WAS_ANOTHER,
    LOG_WAS_CLOSED,
    LOG_WAS_CUT,
    LOG_WAS_SYNCED,
    OPENED_LOG,
    OPENED_RESULT,
    ReplyStatus,
    RequestKind,
)
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.replica import Replica

RETRY_MS: Final = 200


class OpenedLog(NamedTuple):
    """One log, as it was when it was opened.

    high_watermark   that its last owner had published, or checkpointed
    was_closed       in order, by the last stop of the node
    was_cut          batches were damaged at its end, or it had no mark, when it was opened, or before, and that was not reported
    is_whole         its directory is not suspect
    has_mark         there was a high watermark to compare it with
    was_synced       each append to it was synced before its answer
    """

    replica: Replica
    end_offset: int
    high_watermark: int
    was_closed: bool
    was_cut: bool
    is_whole: bool
    has_mark: bool
    was_synced: bool

    @property
    def is_short(self) -> bool:
        """Whether it is known that it lost something."""
        return self.end_offset < self.high_watermark

    def pack(self) -> bytes:
        flags = LOG_WAS_CLOSED * self.was_closed | LOG_WAS_CUT * self.was_cut | LOG_IS_WHOLE * self.is_whole
        flags |= LOG_HAS_NO_MARK * (not self.has_mark) | LOG_WAS_SYNCED * self.was_synced
        replica, log = self.replica, self.replica.log
        ends = (self.end_offset, self.high_watermark, log.epochs.written(self.end_offset), log.known_epoch)
        return OPENED_LOG.pack(replica.slot, replica.key, *ends, flags)


class MissingLog(NamedTuple):
    """A replica that counts as in sync, and has no log here.

    was_another   another topic's log had its place, and was put aside with an ERROR
    """

    slot: int
    key: PartitionKey
    was_another: bool = False

    def pack(self) -> bytes:
        flags = LOG_IS_MISSING | LOG_WAS_ANOTHER * self.was_another
        return OPENED_LOG.pack(self.slot, self.key, 0, 0, NO_EPOCH, NO_EPOCH, flags)


class OpenedLogs:
    """Those of one worker.

    replicas     that are held, by slot
    on_answer    takes a replica that may take its role now
    on_missing   takes one whose log may be made now
    """

    def __init__(
        self,
        replicas: Mapping[int, Replica],
        mailbox: Mailbox,
        controller_id: int,
        on_answer: Callable[[Replica], None],
        on_missing: Callable[[MissingLog], None],
    ) -> None:
        self._replicas = replicas
        self._mailbox = mailbox
        self._controller_id = controller_id
        self._on_answer = on_answer
        self._on_missing = on_missing
        self._untold: list[OpenedLog | MissingLog] = []
        self._is_asking = False  # one request is on its way
        self._retry_ms = 0

    def add(self, opened: list[OpenedLog | MissingLog]) -> None:
        """They are reported with the next `tell`."""
        self._untold += opened

    def tell(self, monotonic_ms: int) -> None:
        """Notify the controller, where there is something to tell."""
        while self._untold and not self._is_asking and monotonic_ms >= self._retry_ms:
            part = self._untold[:OPENED_LOGS_PER_REQUEST_MAX]
            told = [
                one
                for one in part
                if isinstance(one, MissingLog) or self._replicas.get(one.replica.slot) is one.replica
            ]
            body = b"".join(one.pack() for one in told)
            on_reply = partial(self._take_reply, told, monotonic_ms)
            if told and not self._mailbox.ask(self._controller_id, RequestKind.OPENED_LOG, body, on_reply):
                self._retry_ms = monotonic_ms + RETRY_MS
                return
            self._is_asking = bool(told)
            del self._untold[:OPENED_LOGS_PER_REQUEST_MAX]

    def _take_reply(
        self, told: list[OpenedLog | MissingLog], asked_ms: int, status: ReplyStatus, body: memoryview
    ) -> None:
        self._is_asking = False
        if status is not ReplyStatus.ANSWERED or bytes(body) != OPENED_RESULT.pack(ErrorCode.NONE):
            self._untold += told
            self._retry_ms = asked_ms + RETRY_MS
            return
        for one in told:
            if isinstance(one, MissingLog):
                self._on_missing(one)
                continue
            self._forget_loss(one.replica)
            if one.replica.is_doubted:
                self._on_answer(one.replica)

    def _forget_loss(self, replica: Replica) -> None:
        """It is reported, and no opening after this one needs to say it again."""
        if self._replicas.get(replica.slot) is not replica or replica.state is RowState.OFFLINE:
            return
        try:
            replica.log.forget_loss()
        except StorageFailed as failure:
            replica.fail(failure)
