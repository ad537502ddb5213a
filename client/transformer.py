"""Consume, transform, produce, exactly once, for programs that block.

    def priced(record):
        return Output("invoices", price(record.value), key=record.key)

    for done in transform(consumer, producer, priced):      # for each transaction; ends where the caller breaks off
        ...

Source: KIP-447; the rest is `transforming.py`, which asyncio shares.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.client.transforming import Outputs, Stored, rounds

if TYPE_CHECKING:
    from headrace.client.kafka_consumer import KafkaConsumer
    from headrace.client.kafka_producer import KafkaProducer


def transform(
    consumer: KafkaConsumer[Any, Any],
    producer: KafkaProducer[Any, Any],
    function: Callable[[Any], Outputs],
    *,
    max_records: int = 500,
    idle: float = 1.0,
) -> Iterator[int]:
    """Each record's outputs are stored once, whatever dies. Yields how many records a transaction had; 0 where none came in `idle` seconds.

    consumer      with delivery="transactional"
    producer      with a transactional_id of this process's own, after init_transactions
    function      of a record: an Output, several, or None; called again for the same record where its transaction was aborted
    max_records   of one transaction
    raises        what the function raises; ProducerFenced, and what else ends a producer; the last failure, where records could not be
                  stored in many transactions. Another call goes on with what is not committed
    """
    steps = rounds(consumer, producer, function, max_records, idle, time.sleep)
    value: Any = None
    failure: BaseException | None = None
    while True:
        wish = steps.send(value) if failure is None else steps.throw(failure)
        value = failure = None
        if isinstance(wish, Stored):
            yield wish.records
            continue
        try:
            value = wish.call()
        except BaseException as raised:
            failure = raised
