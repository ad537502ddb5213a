"""LeaderAndIsrResponse, v0 to v7.

Made by `make codec` from protocol/schema/04_leader_and_isr.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class LeaderAndIsrPartitionError(NamedTuple):
    topic_name: str = ""  # v0-4
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class LeaderAndIsrTopicError(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v5+
    partition_errors: Sequence[LeaderAndIsrPartitionError] = ()  # v5+


class _LeaderAndIsrResponse(NamedTuple):
    error_code: int = 0  # v0+
    partition_errors: Sequence[LeaderAndIsrPartitionError] = ()  # v0-4
    topics: Sequence[LeaderAndIsrTopicError] = ()  # v5+


class LeaderAndIsrResponse(_LeaderAndIsrResponse):
    __slots__ = ()
    LeaderAndIsrPartitionError: TypeAlias = LeaderAndIsrPartitionError
    LeaderAndIsrTopicError: TypeAlias = LeaderAndIsrTopicError
