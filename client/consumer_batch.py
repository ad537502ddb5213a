"""Many records at once, for Arrow and for programs that work in batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.client.records import Record

if TYPE_CHECKING:
    import pyarrow

    from headrace.client.kafka_consumer import KafkaConsumer

K = TypeVar("K")
V = TypeVar("V")


class Records(Generic[K, V]):
    """Records of several partitions, those of one in order."""

    def __init__(self, runs: list[list[Record[K, V]]]) -> None:
        self._runs = runs

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def __iter__(self) -> Iterator[Record[K, V]]:
        return chain.from_iterable(self._runs)

    @property
    def records(self) -> list[Record[K, V]]:
        return list(self)

    def to_arrow(self) -> pyarrow.RecordBatch:
        """Columns topic, partition, offset, timestamp (UTC), key, value; binary keys and values where they are bytes.

        raises   ImportError without pyarrow (extra `arrow`)
        """
        import pyarrow

        columns: list[list[Any]] = [[], [], [], [], [], []]
        for run in self._runs:
            for column, part in zip(columns, zip(*run, strict=True), strict=False):
                column.extend(part)
        kinds = [pyarrow.string(), pyarrow.int32(), pyarrow.int64(), pyarrow.timestamp("ms", "UTC"), None, None]
        names = ["topic", "partition", "offset", "timestamp", "key", "value"]
        arrays = [
            pyarrow.array(column, kind or (pyarrow.binary() if _is_bytes(column) else None))
            for column, kind in zip(columns, kinds, strict=True)
        ]
        return pyarrow.RecordBatch.from_arrays(arrays, names=names)


class ConsumerBatch(Records[K, V]):
    """Records of a blocking consumer."""

    def __init__(self, consumer: KafkaConsumer[K, V], runs: list[list[Record[K, V]]]) -> None:
        super().__init__(runs)
        self._consumer = consumer

    def commit(self) -> None:
        """Commit after these records. raises as `KafkaConsumer.commit`"""
        self._consumer.commit()


def _is_bytes(column: list[Any]) -> bool:
    return all(one is None or isinstance(one, bytes) for one in column)
