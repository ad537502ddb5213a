"""Producing in transactions: a partition's batches wait until the coordinator knows that it is written to.

    open_batch   -> refused outside of a transaction; the partition is held, and asked to be enlisted
    released     -> its batches are sent as any others
    a failure    -> the transaction fails: what waits is given up, what is in flight is waited for

Sequences begin with 0 where the epoch was raised, and continue from one transaction to the next where it was not. A batch that was
numbered and is given up leaves a gap in them, which the next epoch closes.

Source: Kafka `TransactionManager`, `Sender`, `RecordAccumulator`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.client.engine.batches import Batch
from headrace.client.engine.identity import Identity
from headrace.client.engine.metadata import Metadata
from headrace.client.engine.producing import OnStored, Producing
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.requests import Requests
from headrace.client.engine.routes import Queue, Route
from headrace.client.engine.tasks import Procedure, Task, Tasks
from headrace.client.engine.transaction_states import OPEN
from headrace.client.engine.transactions import Transactions
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.protocol.record_batch import TRANSACTIONAL_BIT


class TransactionalProducing(Producing):
    """Producing under a transactional id.

    has_gap   a sequence was given to a batch that may not be stored
    """

    def __init__(
        self,
        requests: Requests,
        tasks: Tasks,
        metadata: Metadata,
        options: ProducingOptions,
        path: Any = None,
        on_stored: OnStored | None = None,
    ) -> None:
        super().__init__(requests, tasks, metadata, options, path=path, on_stored=on_stored)
        assert self._is_idempotent
        self.has_gap = False
        self.transactions = Transactions(requests, tasks, options, self)

    # Taking records

    def queue(self, route: Route, partition: int) -> Queue:
        found = super().queue(route, partition)
        found.identity.attributes = TRANSACTIONAL_BIT
        return found

    def open_batch(self, queue: Queue, record_bytes: int, now_s: float) -> Batch:
        """raises   KafkaError INVALID_TXN_STATE outside of a transaction; what the transaction, or the producer, has failed with"""
        self.transactions.check_send()
        batch = super().open_batch(queue, record_bytes, now_s)
        if queue.name not in self.transactions.partitions:
            queue.is_renewing = True
            self.transactions.enlist(queue.name)
        return batch

    def turn(self, now_s: float, is_flushing: bool = False) -> None:
        self._tasks.now_s = max(self._tasks.now_s, now_s)  # a program may have computed for long since the last turn
        self.transactions.turn()
        super().turn(now_s, is_flushing)

    # What the transaction calls

    def renumber(self, producer_id: int, epoch: int) -> None:
        """Sequences begin with 0, under this id and epoch."""
        self._identity = Identity(producer_id, epoch, attributes=TRANSACTIONAL_BIT)
        for queue in self._queues():
            queue.identity = Identity(producer_id, epoch, attributes=TRANSACTIONAL_BIT)
        self.has_gap = False

    def release(self, names: Iterable[TopicPartition]) -> None:
        """These may be written to."""
        for name in names:
            queue = self.routes[name.topic].queues[name.partition]
            assert queue is not None
            queue.is_renewing = False
            if queue.waiting:
                self._ready[queue] = None

    def close_open(self) -> None:
        """No record comes to what is open."""
        self.turn(self._tasks.now_s, is_flushing=True)

    def drop_waiting(self, failure: HeadraceError) -> None:
        """What is not in flight is given up."""
        for queue in self._queues():
            if queue.open is not None:
                if queue.open.builder.count:  # type: ignore[union-attr]  # an open batch has one
                    self._close(queue)
                else:
                    self._discard(queue, queue.open)
            dropped = list(queue.waiting)
            queue.waiting.clear()
            self._ready.pop(queue, None)
            for batch in dropped:
                self._give_up(queue, batch, failure)

    def drained(self) -> Procedure[None]:
        """Until no batch is left; of a transaction that has failed, or is aborted, what comes back is given up."""
        while pending := self.unfinished():
            yield _done(pending[0])

    def forget_failures(self) -> None:
        """Of an aborted transaction: no flush is to raise them."""
        self.take_unseen()

    # Failures

    def _ask_identity(self) -> None:
        """It comes with `init_transactions`."""

    def _has_no_idempotence(self, _failure: HeadraceError) -> bool:
        return False  # without it there are no transactions

    def _fail(self, queue: Queue, batch: Batch, failure: HeadraceError) -> None:
        self.has_gap |= batch.sequence >= 0
        self.transactions.batch_failed(failure)  # before a commit hears that the batch is done
        super()._fail(queue, batch, failure)

    def _renew(self, queue: Queue) -> Procedure[None]:
        """The broker does not know where this partition's sequences were: the transaction is lost, and the next epoch begins anew."""
        if queue.waiting:
            failure = queue.waiting[0].last_failure
            assert failure is not None
            self.transactions.batch_failed(failure)
        return
        yield

    def _put_back(self, queue: Queue, batches: list[Batch]) -> None:
        if self.transactions.state in OPEN:
            super()._put_back(queue, batches)
            return
        for batch in batches:
            self._give_up(queue, batch, batch.last_failure or self.transactions.failure or _aborted())

    def _give_up(self, queue: Queue, batch: Batch, failure: HeadraceError) -> None:
        self.has_gap |= batch.sequence >= 0
        self._settle(queue, batch, failure)

    def _queues(self) -> Iterator[Queue]:
        for route in self.routes.values():
            for queue in route.queues:
                if queue is not None:
                    yield queue


def _aborted() -> HeadraceError:
    return HeadraceError("the transaction was aborted")


def _done(batch: Batch) -> Task[None]:
    """Done with the batch, whatever becomes of it."""
    task: Task[None] = Task(None, None, f"delivery to {batch.name}")
    batch.on_done(lambda _batch: task.settle(None))
    return task
