"""Logs that have more than the states in ZooKeeper know of, reported to the controller: those states are of the past (decision 015).

Runs in: a partition worker. Found by the replica, when it is given a role (`Replica.take_role`: a leader epoch below the latest of its
log), or by its follower's half (`replication/followed.py`: the leader's log is another one, in epochs that both have). Such a replica
takes no role before the controller has answered, and so has it in no role in the view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import OPENED_LOGS_PER_REQUEST_MAX
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import AHEAD_LOG, LOG_HAS_NO_ID, OPENED_RESULT, ReplyStatus, RequestKind
from headrace.workers.partition.replicas.replica import Replica

RETRY_MS: Final = 200


class AheadLogs:
    """Those of one worker.

    replicas    that are held, by slot
    on_answer   called with of a replica that may take its role now
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
        self._untold: list[Replica] = []
        self._is_asking = False  # one request is on its way
        self._retry_ms = 0

    def add(self, replicas: list[Replica]) -> None:
        """They are reported with the next `tell`."""
        self._untold += replicas

    def tell(self, monotonic_ms: int) -> None:
        """Notify the controller, where there is something to tell."""
        while self._untold and not self._is_asking and monotonic_ms >= self._retry_ms:
            part = self._untold[:OPENED_LOGS_PER_REQUEST_MAX]
            told = [one for one in part if self._replicas.get(one.slot) is one]
            body = b"".join(map(_pack, told))
            on_reply = partial(self._take_reply, told, monotonic_ms)
            if told and not self._mailbox.ask(self._controller_id, RequestKind.AHEAD_LOG, body, on_reply):
                self._retry_ms = monotonic_ms + RETRY_MS
                return
            self._is_asking = bool(told)
            del self._untold[:OPENED_LOGS_PER_REQUEST_MAX]

    def _take_reply(self, told: list[Replica], asked_ms: int, status: ReplyStatus, body: memoryview) -> None:
        self._is_asking = False
        if status is not ReplyStatus.ANSWERED or bytes(body) != OPENED_RESULT.pack(ErrorCode.NONE):
            self._untold += told
            self._retry_ms = asked_ms + RETRY_MS
            return
        for replica in told:
            replica.ahead = None
            self._on_answer(replica)


def _pack(replica: Replica) -> bytes:
    one = replica.ahead
    assert one is not None
    return AHEAD_LOG.pack(
        replica.slot, replica.key, one.end_offset, one.parted_at, one.epoch, one.latest_epoch, one.leader, one.leader_epoch,
        LOG_HAS_NO_ID * replica.is_nameless,
    )  # fmt: skip
