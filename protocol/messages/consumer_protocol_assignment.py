"""ConsumerProtocolAssignment, v0 to v3.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TopicPartition(NamedTuple):
    topic: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class _ConsumerProtocolAssignment(NamedTuple):
    assigned_partitions: Sequence[TopicPartition] = ()  # v0+
    user_data: bytes | None = None  # v0+, null v0+


class ConsumerProtocolAssignment(_ConsumerProtocolAssignment):
    __slots__ = ()
    TopicPartition: TypeAlias = TopicPartition
