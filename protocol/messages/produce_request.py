"""ProduceRequest, v0 to v11.

Made by `make codec` from protocol/schema/00_produce.txt: do not edit.
"""

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.produce_response import ProduceResponse


class _PartitionProduceData(NamedTuple):
    index: int = 0  # type: ignore[assignment]  # v0+
    records: memoryview | None = None  # v0+, null v0+


class PartitionProduceData(_PartitionProduceData):
    __slots__ = ()
    if TYPE_CHECKING:

        def __new__(cls, index: int = ..., records: Sized | None = ...) -> Self: ...
        def _replace(self, *, index: int = ..., records: Sized | None = ...) -> Self: ...


class TopicProduceData(NamedTuple):
    name: str = ""  # v0+
    partition_data: Sequence[PartitionProduceData] = ()  # v0+


class _ProduceRequest(NamedTuple):
    transactional_id: str | None = None  # v3+, null v3+
    acks: int = 0  # v0+
    timeout_ms: int = 0  # v0+
    topic_data: Sequence[TopicProduceData] = ()  # v0+


class ProduceRequest(_ProduceRequest):
    __slots__ = ()
    PartitionProduceData: TypeAlias = PartitionProduceData
    TopicProduceData: TypeAlias = TopicProduceData
    if TYPE_CHECKING:

        def _answer_(self) -> ProduceResponse: ...
