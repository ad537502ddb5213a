"""The topic that an import writes into: one idempotent producer, one batch in flight, and a search for what has arrived.

Why nothing comes twice. A batch carries the import's producer id and its sequence, and which records are in it follows from
where it begins in the source. After an interruption the import searches for its own batches after the last acknowledged offset, and
counts them as sent. A batch that was still in flight then is refused by the broker as a duplicate, or ours is, with the
same answer. The broker's own memory of producers may have expired (a day) without harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import EARLIEST, LATEST, Cluster, error_of
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.message_set import iterate_headers
from headrace.protocol.record_batch import SEQUENCE_MASK, Record, RecordBatchHeader, build_batch, iterate_records

PRODUCE_TIMEOUT_MS = 30_000
PRODUCE_VERSIONS = (3, 9)
ALREADY_THERE = (
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
)


class Writer(NamedTuple):
    """The producer of a batch, and the sequence of its first record."""

    producer_id: int
    producer_epoch: int
    sequence: int
    compression: str  # none, gzip, snappy, lz4, zstd


def following(sequence: int, count: int) -> int:
    """The sequence after `count` records; it wraps from 2**31 - 1 to 0."""
    return (sequence + count) & SEQUENCE_MASK


class ImportTopic:
    """A topic of a cluster. The caller closes the cluster."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.topic = topic
        self._cluster = cluster

    @property
    def cluster_id(self) -> str:
        """Known after `prepare`."""
        return self._cluster.cluster_id

    def prepare(self, partitions: int) -> None:
        """Ensure that the topic exists and has this many partitions; create it if missing.

        raises   HeadraceError, where it has too few; KafkaError; ConnectionFailed
        """
        self._cluster.refresh(
            []
        )  # the brokers; asking for the topic itself might create it with the default number of partitions
        names = self._cluster.refresh(None)
        if self.topic not in names:
            self._create(partitions)
        self._cluster.retried(lambda: self._cluster.refresh([self.topic]), {self.topic})
        there = sum(name.topic == self.topic for name in self._cluster.partitions)
        if there < partitions:
            raise HeadraceError(
                f"topic {self.topic} has {there} partitions, the source needs {partitions}; add them:"
                f" headrace topics alter {self.topic} --partitions {partitions}"
            )

    def new_producer(self) -> tuple[int, int]:
        """(producer id, epoch); raises KafkaError, ConnectionFailed."""
        return self._cluster.retried(self._init_producer, set())

    def end_offset(self, partition: int) -> int:
        name = TopicPartition(self.topic, partition)
        return self._cluster.offsets({name: LATEST})[name]

    def start_offset(self, partition: int) -> int:
        name = TopicPartition(self.topic, partition)
        return self._cluster.offsets({name: EARLIEST})[name]

    def send(self, partition: int, payloads: Sequence[bytes], writer: Writer, timestamp_ms: int) -> int:
        """Write one batch, acknowledged by all replicas; returns its offset, -1 if it was there already.

        raises   KafkaError: UNKNOWN_PRODUCER_ID, where the partition forgot the writer, and the sequence is not 0;
                 ConnectionFailed
        """
        name = TopicPartition(self.topic, partition)
        batch = build_batch(
            [Record(index, timestamp_ms, None, payload) for index, payload in enumerate(payloads)],
            codec=Codec[writer.compression.upper()], producer_id=writer.producer_id,
            producer_epoch=writer.producer_epoch, base_sequence=writer.sequence,
        )  # fmt: skip
        try:
            return self._cluster.retried(lambda: self._produce(name, batch), {self.topic})
        except KafkaError as failure:
            if failure.code in ALREADY_THERE:
                return -1
            raise

    def own_batches(
        self, partition: int, start: int, end: int, producer_id: int
    ) -> Iterator[tuple[RecordBatchHeader, memoryview]]:
        """(header, batch) of each of a producer's batches that begin in a range of offsets. raises KafkaError"""
        name = TopicPartition(self.topic, partition)
        for data in self._cluster.fetch(name, max(start, self.start_offset(partition)), end):
            for header, batch in iterate_headers(data):
                if header.producer_id == producer_id and start <= header.base_offset < end:
                    yield header, batch

    def arrived(self, partition: int, start: int, producer_id: int, sequence: int) -> tuple[int, int]:
        """How many records of a producer, from a sequence on, follow an offset, and where they end.

        returns   (count, offset after the last of them); (0, start) if there are none
        raises    HeadraceError, where sequences don't follow each other: two imports with one state
        """
        count, end = 0, start
        for header, _batch in self.own_batches(partition, start, self.end_offset(partition), producer_id):
            if header.base_sequence != following(sequence, count):
                raise HeadraceError(
                    f"{self.topic}-{partition}: sequence {header.base_sequence} of producer {producer_id} at offset"
                    f" {header.base_offset}, expected {following(sequence, count)}; another import may be using a copy of this state"
                )
            count += header.record_count
            end = header.last_offset + 1
        return count, end

    def payloads(self, partition: int, start: int, end: int, producer_id: int) -> Iterator[bytes]:
        """What a producer wrote into a range of offsets, in order."""
        for _header, batch in self.own_batches(partition, start, end, producer_id):
            for record in iterate_records(batch):
                yield record.value or b""

    def _produce(self, name: TopicPartition, batch: bytes) -> int:
        request_type = messages.ProduceRequest
        row = request_type.PartitionProduceData(index=name.partition, records=batch)
        connection = self._cluster.connection(self._cluster.leader(name))
        answer = connection.request(
            ApiKey.PRODUCE,
            connection.version(ApiKey.PRODUCE, *PRODUCE_VERSIONS),
            request_type(
                acks=-1,
                timeout_ms=PRODUCE_TIMEOUT_MS,
                topic_data=[request_type.TopicProduceData(name=name.topic, partition_data=[row])],
            ),
        )
        result = answer.responses[0].partition_responses[0]
        if result.error_code:
            raise error_of(result.error_code, f"{name}: {result.error_message or 'produce'}")
        return int(result.base_offset)

    def _init_producer(self) -> tuple[int, int]:
        if not self._cluster.brokers:
            self._cluster.refresh([])
        connection = self._cluster.connection(next(iter(self._cluster.brokers)))
        version = connection.version(ApiKey.INIT_PRODUCER_ID, 0, 4)
        request = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=PRODUCE_TIMEOUT_MS)
        answer = connection.request(ApiKey.INIT_PRODUCER_ID, version, request)
        if answer.error_code:
            raise error_of(answer.error_code, "producer id")
        return answer.producer_id, answer.producer_epoch

    def _create(self, partitions: int) -> None:
        """A concurrent creation by another client is fine."""
        error = Admin(self._cluster).create_topics([NewTopic(self.topic, partitions)])[self.topic]
        if error is not None and error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise error
