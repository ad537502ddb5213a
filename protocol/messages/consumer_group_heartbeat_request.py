"""ConsumerGroupHeartbeatRequest, v0.

Made by `make codec` from protocol/schema/68_consumer_group_heartbeat.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse


class TopicPartitions(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v0+
    partitions: Sequence[int] = ()  # v0+


class _ConsumerGroupHeartbeatRequest(NamedTuple):
    group_id: str = ""  # v0+
    member_id: str = ""  # v0+
    member_epoch: int = 0  # v0+
    instance_id: str | None = None  # v0+, null v0+
    rack_id: str | None = None  # v0+, null v0+
    rebalance_timeout_ms: int = -1  # v0+
    subscribed_topic_names: Sequence[str] | None = None  # v0+, null v0+
    server_assignor: str | None = None  # v0+, null v0+
    topic_partitions: Sequence[TopicPartitions] | None = None  # v0+, null v0+


class ConsumerGroupHeartbeatRequest(_ConsumerGroupHeartbeatRequest):
    __slots__ = ()
    TopicPartitions: TypeAlias = TopicPartitions
    if TYPE_CHECKING:

        def _answer_(self) -> ConsumerGroupHeartbeatResponse: ...
