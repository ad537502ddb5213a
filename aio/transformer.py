"""Consume, transform, produce, exactly once, for asyncio.

    async def priced(record):                               # or a function
        return Output("invoices", price(record.value), key=record.key)

    async for done in transform(consumer, producer, priced):      # for each transaction; ends where the caller breaks off
        ...

Source: KIP-447; the rest is `client/transforming.py`, which the blocking one shares.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from headrace.client.transforming import Outputs, Stored, rounds

if TYPE_CHECKING:
    from headrace.aio.consumer import KafkaConsumer
    from headrace.aio.producer import KafkaProducer


async def transform(
    consumer: KafkaConsumer[Any, Any],
    producer: KafkaProducer[Any, Any],
    function: Callable[[Any], Outputs | Awaitable[Outputs]],
    *,
    max_records: int = 500,
    idle: float = 1.0,
) -> AsyncIterator[int]:
    """Each record's outputs are stored once, whatever dies. Yields how many records a transaction had; 0 where none came in `idle` seconds.

    consumer      with delivery="transactional"
    producer      with a transactional_id of this process's own, after init_transactions
    function      or coroutine function, of a record: an Output, several, or None; called again where the transaction was aborted
    max_records   of one transaction
    raises        what the function raises; ProducerFenced, and what else ends a producer; the last failure, where records could not be
                  stored in many transactions. Another call goes on with what is not committed
    """
    steps = rounds(consumer, producer, function, max_records, idle, asyncio.sleep)
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
            if inspect.isawaitable(value):
                value = await value
        except BaseException as raised:
            failure = raised
