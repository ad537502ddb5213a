"""UpdateMetadataRequest, v0 to v8.

Made by `make codec` from protocol/schema/06_update_metadata.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.update_metadata_response import UpdateMetadataResponse


class UpdateMetadataPartitionState(NamedTuple):
    topic_name: str = ""  # v0-4
    partition_index: int = 0  # v0+
    controller_epoch: int = 0  # v0+
    leader: int = 0  # v0+
    leader_epoch: int = 0  # v0+
    isr: Sequence[int] = ()  # v0+
    zk_version: int = 0  # v0+
    replicas: Sequence[int] = ()  # v0+
    offline_replicas: Sequence[int] = ()  # v4+


class UpdateMetadataTopicState(NamedTuple):
    topic_name: str = ""  # v5+
    topic_id: bytes = ZERO_UUID  # v7+
    partition_states: Sequence[UpdateMetadataPartitionState] = ()  # v5+


class UpdateMetadataEndpoint(NamedTuple):
    port: int = 0  # v1+
    host: str = ""  # v1+
    listener: str = ""  # v3+
    security_protocol: int = 0  # v1+


class UpdateMetadataBroker(NamedTuple):
    id: int = 0  # v0+
    v0_host: str = ""  # v0
    v0_port: int = 0  # v0
    endpoints: Sequence[UpdateMetadataEndpoint] = ()  # v1+
    rack: str | None = ""  # v2+, null v0+


class _UpdateMetadataRequest(NamedTuple):
    controller_id: int = 0  # v0+
    is_kraft_controller: bool = False  # v8+
    type: int = 0  # v8+, tag 0 v8+
    controller_epoch: int = 0  # v0+
    broker_epoch: int = -1  # v5+
    ungrouped_partition_states: Sequence[UpdateMetadataPartitionState] = ()  # v0-4
    topic_states: Sequence[UpdateMetadataTopicState] = ()  # v5+
    live_brokers: Sequence[UpdateMetadataBroker] = ()  # v0+


class UpdateMetadataRequest(_UpdateMetadataRequest):
    __slots__ = ()
    UpdateMetadataPartitionState: TypeAlias = UpdateMetadataPartitionState
    UpdateMetadataTopicState: TypeAlias = UpdateMetadataTopicState
    UpdateMetadataEndpoint: TypeAlias = UpdateMetadataEndpoint
    UpdateMetadataBroker: TypeAlias = UpdateMetadataBroker
    if TYPE_CHECKING:

        def _answer_(self) -> UpdateMetadataResponse: ...
