"""ElectLeadersRequest, v0 to v2.

Made by `make codec` from protocol/schema/43_elect_leaders.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.elect_leaders_response import ElectLeadersResponse


class TopicPartitions(NamedTuple):
    topic: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class _ElectLeadersRequest(NamedTuple):
    election_type: int = 0  # v1+
    topic_partitions: Sequence[TopicPartitions] | None = ()  # v0+, null v0+
    timeout_ms: int = 60000  # v0+


class ElectLeadersRequest(_ElectLeadersRequest):
    __slots__ = ()
    TopicPartitions: TypeAlias = TopicPartitions
    if TYPE_CHECKING:

        def _answer_(self) -> ElectLeadersResponse: ...
