"""Logs that were opened, told to the controller: it holds replicas that may have lost what they acknowledged (decision 042).

Runs in: a partition worker. Each log is told of once, with the high watermark that was known of it before; what is not answered is told
again. A log that ends before that mark lost something: its replica takes no role before the controller has answered, and
so has said what follows in a view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from headrace.errors import ErrorCode
from headrace.limits import OPENED_LOGS_PER_REQUEST_MAX
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import LOG_WAS_CLOSED, LOG_WAS_CUT, OPENED_LOG, OPENED_RESULT, ReplyStatus, RequestKind
from headrace.workers.partition.replica import Replica

RETRY_MS: Final = 200


class OpenedLog(NamedTuple):
    """One log, as it was when it was opened.

    high_watermark   that its last owner had published, or checkpointed
    was_closed       in order, by the last stop of the node
    was_cut          batches were damaged at its end
    """

    replica: Replica
    end_offset: int
    high_watermark: int
    was_closed: bool
    was_cut: bool

    @property
    def is_short(self) -> bool:
        """Whether it is known that it lost something."""
        return self.end_offset < self.high_watermark

    def pack(self) -> bytes:
        flags = LOG_WAS_CLOSED * self.was_closed | LOG_WAS_CUT * self.was_cut
        epoch = self.replica.log.epochs.latest
        return OPENED_LOG.pack(self.replica.slot, self.replica.key, self.end_offset, self.high_watermark, epoch, flags)


class OpenedLogs:
    """Those of one worker.

    replicas    that are held, by slot
    on_answer   told of a replica that may take its role now
    """

    def __init__(
        self,
        replicas: Mapping[int, Replica],
        mailbox: Mailbox,
        controller_id: int,
        on_answer: Callable[[Replica], None],
    ) -> None:
        self._replicas = replicas
        self._mailbox = mailbox
        self._controller_id = controller_id
        self._on_answer = on_answer
        self._untold: list[OpenedLog] = []
        self._is_asking = False  # one request is on its way
        self._retry_ms = 0

    def add(self, opened: list[OpenedLog]) -> None:
        """They are told of with the next `tell`."""
        self._untold += opened

    def tell(self, monotonic_ms: int) -> None:
        """Tell the controller, where there is something to tell."""
        while self._untold and not self._is_asking and monotonic_ms >= self._retry_ms:
            part = self._untold[:OPENED_LOGS_PER_REQUEST_MAX]
            told = [one for one in part if self._replicas.get(one.replica.slot) is one.replica]
            body = b"".join(one.pack() for one in told)
            on_reply = partial(self._take_reply, told, monotonic_ms)
            if told and not self._mailbox.ask(self._controller_id, RequestKind.OPENED_LOG, body, on_reply):
                self._retry_ms = monotonic_ms + RETRY_MS
                return
            self._is_asking = bool(told)
            del self._untold[:OPENED_LOGS_PER_REQUEST_MAX]

    def _take_reply(self, told: list[OpenedLog], asked_ms: int, status: ReplyStatus, body: memoryview) -> None:
        self._is_asking = False
        if status is not ReplyStatus.ANSWERED or bytes(body) != OPENED_RESULT.pack(ErrorCode.NONE):
            self._untold += told
            self._retry_ms = asked_ms + RETRY_MS
            return
        for one in told:
            if one.replica.is_doubted:
                self._on_answer(one.replica)
