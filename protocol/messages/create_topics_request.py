"""CreateTopicsRequest, v0 to v7.

Made by `make codec` from protocol/schema/19_create_topics.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.create_topics_response import CreateTopicsResponse


class CreatableReplicaAssignment(NamedTuple):
    partition_index: int = 0  # v0+
    broker_ids: Sequence[int] = ()  # v0+


class CreatableTopicConfig(NamedTuple):
    name: str = ""  # v0+
    value: str | None = ""  # v0+, null v0+


class CreatableTopic(NamedTuple):
    name: str = ""  # v0+
    num_partitions: int = 0  # v0+
    replication_factor: int = 0  # v0+
    assignments: Sequence[CreatableReplicaAssignment] = ()  # v0+
    configs: Sequence[CreatableTopicConfig] = ()  # v0+


class _CreateTopicsRequest(NamedTuple):
    topics: Sequence[CreatableTopic] = ()  # v0+
    timeout_ms: int = 60000  # v0+
    validate_only: bool = False  # v1+


class CreateTopicsRequest(_CreateTopicsRequest):
    __slots__ = ()
    CreatableReplicaAssignment: TypeAlias = CreatableReplicaAssignment
    CreatableTopicConfig: TypeAlias = CreatableTopicConfig
    CreatableTopic: TypeAlias = CreatableTopic
    if TYPE_CHECKING:

        def _answer_(self) -> CreateTopicsResponse: ...
