"""The way in, for programs that block: `Kafka(...)`, and from it producers, consumers, an admin.

    with Kafka("broker:9092") as kafka:
        with kafka.producer(value=Json(Order)) as producer: ...
        with kafka.consumer("orders", group="billing", value=Json(Order)) as consumer: ...

Each has an engine and connections of its own, so that one thread may use each. `headrace.aio` has the same names for asyncio.

Keyword arguments are Kafka's configuration keys in snake case (`linger_ms` for `linger.ms`).

Each half is imported when one is made: a program that only produces does not import what consumers need.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from headrace.client.addresses import parse_addresses
from headrace.client.client_id import CLIENT_ID
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    import re

    from headrace.client.consumer_options import OnError, Start
    from headrace.client.engine.engine import Engine
    from headrace.client.engine.link import Security
    from headrace.client.kafka_admin import KafkaAdmin
    from headrace.client.kafka_consumer import KafkaConsumer
    from headrace.client.kafka_producer import KafkaProducer
    from headrace.client.serializers import Deserializer, Serializer
    from headrace.ids import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class Kafka:
    """A cluster, by its bootstrap servers. Makes no connection itself.

    security   the room for credentials; TLS and SASL come with the security issue
    """

    def __init__(
        self, bootstrap_servers: str | Iterable[str], *, client_id: str = CLIENT_ID, security: Security | None = None
    ) -> None:
        self.bootstrap = parse_addresses(bootstrap_servers)
        self.client_id = client_id
        self.security = security
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()

    def __enter__(self) -> Kafka:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def engine(self) -> Engine:
        """An engine of this cluster, without parts."""
        import random

        from headrace.client.engine.engine import Engine

        return Engine(list(self.bootstrap), self.client_id, self.security, random.random)

    @overload
    def producer(self, *, key: Serializer[K], value: Serializer[V], **options: Any) -> KafkaProducer[K, V]: ...

    @overload
    def producer(self, *, value: Serializer[V], **options: Any) -> KafkaProducer[bytes | None, V]: ...

    @overload
    def producer(self, *, key: Serializer[K], **options: Any) -> KafkaProducer[K, bytes | None]: ...

    @overload
    def producer(self, **options: Any) -> KafkaProducer[bytes | None, bytes | None]: ...

    def producer(
        self,
        *,
        key: Serializer[Any] | None = None,
        value: Serializer[Any] | None = None,
        max_block_ms: float = 60_000,
        sender_thread: bool = False,
        **options: Any,
    ) -> KafkaProducer[Any, Any]:
        """A producer; see `producer_options.producing_options` for what it takes.

        sender_thread   batches leave also while the caller does other things; any thread may send then
        """
        from headrace.client.kafka_producer import KafkaProducer
        from headrace.client.producer_options import producing_options

        made: KafkaProducer[Any, Any] = KafkaProducer(
            self.engine(), producing_options(options), key, value, max_block_ms / 1000, sender_thread
        )
        self._made.add(made)
        return made

    @overload
    def consumer(
        self, *topics: str, key: Deserializer[K], value: Deserializer[V], **options: Any
    ) -> KafkaConsumer[K, V]: ...

    @overload
    def consumer(self, *topics: str, value: Deserializer[V], **options: Any) -> KafkaConsumer[bytes | None, V]: ...

    @overload
    def consumer(self, *topics: str, key: Deserializer[K], **options: Any) -> KafkaConsumer[K, bytes | None]: ...

    @overload
    def consumer(self, *topics: str, **options: Any) -> KafkaConsumer[bytes | None, bytes | None]: ...

    def consumer(
        self,
        *topics: str,
        pattern: str | re.Pattern[str] | None = None,
        partitions: Iterable[TopicPartition | tuple[str, int]] | None = None,
        group: str | None = None,
        key: Deserializer[Any] | None = None,
        value: Deserializer[Any] | None = None,
        delivery: Literal["at_most_once", "at_least_once", "exactly_once", "transactional"] = "at_least_once",
        start: Start = "latest",
        on_error: OnError = "raise",
        on_assigned: Callable[[tuple[TopicPartition, ...]], Mapping[TopicPartition, int] | None] | None = None,
        on_revoked: Callable[[tuple[TopicPartition, ...]], None] | None = None,
        **options: Any,
    ) -> KafkaConsumer[Any, Any]:
        """A consumer of topics, of those that a pattern matches, or of given partitions.

        group         of which it is a member, and where its offsets are; None: it reads all partitions, and commits nothing
        delivery      at_most_once: committed before records are handed out; at_least_once: after they are done, that is when the
                      next is asked for; exactly_once: never, positions are kept by you beside the output, and given to `start_at`;
                      transactional: by the transaction of a producer (`transform`, `send_offsets_to_transaction`)
        start         without a committed offset: "earliest", "latest", "none", a datetime, or milliseconds
        on_error      records that can't be decoded: "raise", "skip", or a function that is given the `DecodingFailed`
        on_assigned   is given new partitions, and may return where to begin them
        on_revoked    is given partitions before they go to another member; what was done with them is committed after it
        """
        from headrace.client.consumer_options import ConsumerOptions, Delivery
        from headrace.client.kafka_consumer import KafkaConsumer

        made: KafkaConsumer[Any, Any] = KafkaConsumer(
            self.engine,
            ConsumerOptions.of(
                topics=topics,
                pattern=pattern,
                partitions=partitions,
                group=group,
                delivery=Delivery(delivery),
                start=start,
                **options,
            ),
            key,
            value,
            on_error,
            on_assigned,
            on_revoked,
        )
        self._made.add(made)
        return made

    def admin(self) -> KafkaAdmin:
        """An admin of topics and groups."""
        from headrace.client.kafka_admin import KafkaAdmin

        made = KafkaAdmin(self.engine())
        self._made.add(made)
        return made

    def close(self) -> None:
        """Close what was made here and is still open, all of it. raises the first failure"""
        failures: list[HeadraceError] = []
        for made in list(self._made):
            try:
                made.close()
            except HeadraceError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
