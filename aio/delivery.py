"""What became of a record that was sent, for the asyncio producer: `meta = await delivery`.

Source: Kafka `FutureRecordMetadata`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.client.delivery import metadata_of
from headrace.client.engine.batches import Batch
from headrace.client.records import RecordMetadata
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.aio.producer import KafkaProducer


class Delivery(NamedTuple):
    """A record on its way. It may be awaited never, once, or by several."""

    producer: KafkaProducer[Any, Any]
    batch: Batch
    place: int  # in it

    @property
    def is_done(self) -> bool:
        """Whether it was acknowledged, or failed for good."""
        return self.batch.is_done

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """Where it was stored. raises   KafkaError or ConnectionFailed, where it was not, or is not known to be"""
        self.batch.is_seen = True
        if not self.batch.is_done:
            yield from self.producer.wait_for(self.batch).__await__()
        return metadata_of(self.batch, self.place)

    async def result(self, timeout: float | None = None) -> RecordMetadata:
        """The same, for so many seconds at most. raises WaitTimedOut as well"""
        self.batch.is_seen = True
        if not self.batch.is_done:
            await self.producer.wait_for(self.batch, timeout)
        return metadata_of(self.batch, self.place)

    async def exception(self, timeout: float | None = None) -> HeadraceError | None:
        """Wait, and return why it failed; None: it was stored. raises WaitTimedOut"""
        self.batch.is_seen = True
        if not self.batch.is_done:
            await self.producer.wait_for(self.batch, timeout)
        return self.batch.failure
