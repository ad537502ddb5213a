"""Many records at once, for Arrow and for programs that work in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.client.consumer_batch import K, Records, V
from headrace.client.records import Record

if TYPE_CHECKING:
    from headrace.aio.consumer import KafkaConsumer


class ConsumerBatch(Records[K, V]):
    """Records of an asyncio consumer."""

    def __init__(self, consumer: KafkaConsumer[K, V], runs: list[list[Record[K, V]]]) -> None:
        super().__init__(runs)
        self._consumer = consumer

    async def commit(self) -> None:
        """Commit after these records. raises as `KafkaConsumer.commit`"""
        await self._consumer.commit()
