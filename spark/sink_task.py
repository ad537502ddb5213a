"""Who a task of an exactly-once sink is to the brokers: the same in every attempt.

    producer id    2^62 + 62 bits of a hash of (query, task, micro-batch // EPOCHS): no id that a cluster hands out
    epoch          micro-batch % EPOCHS: a later micro-batch fences an earlier one
    sequence       of a row among those of its partition, from 0 in each micro-batch

A partition takes a batch of records only where its sequence comes next, so of two attempts that write at once one is refused,
whatever the other has written by then: no lock and no transaction is needed for it.

Runs in: Python workers. Source: KIP-98, KIP-360; Kafka `ProducerAppendInfo`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from pyspark import TaskContext

EPOCHS = 32_000  # of the int16 that an epoch is
OWN_IDS_FROM = 1 << 62
QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
RUN_ID = "spark.jobGroup.id"

assert EPOCHS < 1 << 15


class SinkTask(NamedTuple):
    """A task that writes, in whichever attempt.

    query   id of the streaming query, which its checkpoint keeps; of a batch: its txnAppId, or drawn for it
    run     of the query, another one after each start; empty where Spark does not report. Of a batch: drawn for it
    batch   number of the micro-batch; of a batch: its txnVersion, or 0
    number  of the task
    attempt of it, from 0. A stage that Spark repeats begins again at 0
    """

    query: str
    run: str
    batch: int
    number: int
    attempt: int = 0

    @property
    def producer_id(self) -> int:
        identity = f"{self.query}/{self.number}/{self.batch // EPOCHS}"
        drawn = int.from_bytes(blake2b(identity.encode(), digest_size=8).digest(), "big")
        return OWN_IDS_FROM | (drawn & (OWN_IDS_FROM - 1))

    @property
    def epoch(self) -> int:
        return self.batch % EPOCHS

    def __str__(self) -> str:
        return f"task {self.number} of micro-batch {self.batch}, query {self.query}"


def task_of_stream() -> SinkTask:
    """The task of a stream that runs here. raises   RuntimeError, where Spark does not say which"""
    context = TaskContext.get()
    query = batch = run = None
    if context is not None:
        query, batch, run = (context.getLocalProperty(name) for name in (QUERY_ID, BATCH_ID, RUN_ID))
    if context is None or not query or not batch:
        raise RuntimeError(f"Spark does not provide {QUERY_ID} and {BATCH_ID} here, which exactly-once needs")
    return SinkTask(query, run or "", int(batch), context.partitionId(), context.attemptNumber())


def task_of_batch(query: str, run: str, number: int = 0) -> SinkTask:
    """The task of a batch that runs here; `number` is the batch's."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("not running in a Spark task")
    return SinkTask(query, run, number, context.partitionId(), context.attemptNumber())
