"""CreateTopicsResponse, v0 to v7.

Made by `make codec` from protocol/schema/19_create_topics.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class CreatableTopicConfigs(NamedTuple):
    name: str = ""  # v5+
    value: str | None = ""  # v5+, null v5+
    read_only: bool = False  # v5+
    config_source: int = -1  # v5+
    is_sensitive: bool = False  # v5+


class CreatableTopicResult(NamedTuple):
    name: str = ""  # v0+
    topic_id: bytes = ZERO_UUID  # v7+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v1+, null v0+
    topic_config_error_code: int = 0  # v5+, tag 0 v5+
    num_partitions: int = -1  # v5+
    replication_factor: int = -1  # v5+
    configs: Sequence[CreatableTopicConfigs] | None = ()  # v5+, null v5+


class _CreateTopicsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v2+
    topics: Sequence[CreatableTopicResult] = ()  # v0+


class CreateTopicsResponse(_CreateTopicsResponse):
    __slots__ = ()
    CreatableTopicConfigs: TypeAlias = CreatableTopicConfigs
    CreatableTopicResult: TypeAlias = CreatableTopicResult
