"""Replicas that the active controller says are new (LeaderAndIsr, `isNew`): their owners are notified, before the role is taken.

Runs in: the controller process of every node. Where a log directory has failed, an owner makes no empty log of a partition that it
does not find, for it may lie there. A new replica lies nowhere: only the controller knows which one is (KAFKA-10314). On a node
whose directories all work, nobody has to be told anything.

    LeaderAndIsr  ->  NEW_REPLICAS to each owner  ->  answered: it will make these, one it refused before too  ->  the role

Source: Kafka `LogManager.getOrCreateLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from headrace.ids import PartitionKey, owner_of
from headrace.limits import NEW_REPLICAS_WAIT_MS_MAX
from headrace.runtime.tasks import Future, Tasks
from headrace.shm.messages import NEW_REPLICA, ReplyStatus, RequestKind
from headrace.shm.seat import Seat

Replica = tuple[str, int, PartitionKey]  # topic, partition
OnReply = Callable[[ReplyStatus, memoryview], None]
Ask = Callable[[int, int, bytes, OnReply], bool]  # `Mailbox.ask`


class NewReplicas:
    """Of one node.

    ask   asks another process of the node
    """

    def __init__(self, seat: Seat, tasks: Tasks, ask: Ask) -> None:
        self._seat = seat
        self._tasks = tasks
        self._ask = ask

    async def tell(self, replicas: Iterable[Replica]) -> None:
        """Notify the owners of these, and wait until they have heard it; they are not visited where no directory has failed.

        An owner that dies meanwhile, or is asked too much, makes none of them: the role is answered KAFKA_STORAGE_ERROR, as if nobody
        had said that it is new.
        """
        wiring = self._seat.wiring
        if not wiring.offline_directories and not self._seat.offline_dirs():
            return
        by_owner: dict[int, list[PartitionKey]] = {}
        for topic, index, key in replicas:
            owner = wiring.network_count + owner_of(topic, index, wiring.partition_count)
            by_owner.setdefault(owner, []).append(key)
        heard: list[Future[None]] = []
        for owner, keys in by_owner.items():
            future: Future[None] = Future()
            body = b"".join(map(NEW_REPLICA.pack, keys))
            if self._ask(owner, RequestKind.NEW_REPLICAS, body, partial(self._hear, future)):
                self._tasks.expect(future, NEW_REPLICAS_WAIT_MS_MAX, None)
                heard.append(future)
        for future in heard:
            await future

    def _hear(self, future: Future[None], _status: ReplyStatus, _body: memoryview) -> None:
        if not future.is_done:
            self._tasks.unexpect(future)
            future.complete(None)
