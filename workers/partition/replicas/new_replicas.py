"""Which replicas the active controller says are new: a request of the controller process (NEW_REPLICAS).

Runs in: the partition worker that owns them. Asked before the view that has them, or after: where a log directory has failed, one that
was not found was refused until then. What it makes of that is in `replicas.py` (`note_new`).
"""

from __future__ import annotations

from headrace.ids import PartitionKey
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import NEW_REPLICA, RequestKind
from headrace.workers.partition.replicas.replicas import Replicas


class NewReplicas:
    """The handler."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    def handlers(self) -> dict[int, Handler]:
        """By kind."""
        return {RequestKind.NEW_REPLICAS: self._note}

    def _note(self, _version: int, body: memoryview, reply: Reply) -> None:
        self._replicas.note_new([PartitionKey(key) for (key,) in NEW_REPLICA.iter_unpack(body)])
        reply(b"")
