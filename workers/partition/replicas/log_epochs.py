"""The leader epochs of logs, reported to the controller process: it finds where a held log has parted from another (LOG_EPOCHS).

Runs in: the partition worker that owns them. A replica that is held has no role, and its epochs don't change.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.messages import LOG_EPOCH, LOG_EPOCHS_ASKED, LOG_EPOCHS_TOLD, RequestKind
from headrace.workers.partition.replicas.replica import Replica


class LogEpochs:
    """The handler.

    replicas   of this worker, by slot
    """

    def __init__(self, replicas: Mapping[int, Replica]) -> None:
        self._replicas = replicas

    def handlers(self) -> dict[int, Handler]:
        """By kind."""
        return {RequestKind.LOG_EPOCHS: self._tell}

    def _tell(self, _version: int, body: memoryview, reply: Reply) -> None:
        told = bytearray()
        for slot, key in LOG_EPOCHS_ASKED.iter_unpack(body):
            replica = self._replicas.get(slot)
            if replica is None or replica.key != key:
                continue
            entries = replica.log.epochs.entries
            told += LOG_EPOCHS_TOLD.pack(key, len(entries))
            for entry in entries:
                told += LOG_EPOCH.pack(*entry)
        reply(bytes(told))
