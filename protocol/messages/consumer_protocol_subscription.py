"""ConsumerProtocolSubscription, v0 to v3.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TopicPartition(NamedTuple):
    topic: str = ""  # v1+
    partitions: Sequence[int] = ()  # v1+


class _ConsumerProtocolSubscription(NamedTuple):
    topics: Sequence[str] = ()  # v0+
    user_data: bytes | None = None  # v0+, null v0+
    owned_partitions: Sequence[TopicPartition] = ()  # v1+
    generation_id: int = -1  # v2+
    rack_id: str | None = None  # v3+, null v3+


class ConsumerProtocolSubscription(_ConsumerProtocolSubscription):
    __slots__ = ()
    TopicPartition: TypeAlias = TopicPartition
