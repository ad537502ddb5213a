"""MetadataRequest, v0 to v12.

Made by `make codec` from protocol/schema/03_metadata.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.metadata_response import MetadataResponse


class MetadataRequestTopic(NamedTuple):
    topic_id: bytes = ZERO_UUID  # v10+
    name: str | None = ""  # v0+, null v10+


class _MetadataRequest(NamedTuple):
    topics: Sequence[MetadataRequestTopic] | None = ()  # v0+, null v1+
    allow_auto_topic_creation: bool = True  # v4+
    include_cluster_authorized_operations: bool = False  # v8-10
    include_topic_authorized_operations: bool = False  # v8+


class MetadataRequest(_MetadataRequest):
    __slots__ = ()
    MetadataRequestTopic: TypeAlias = MetadataRequestTopic
    if TYPE_CHECKING:

        def _answer_(self) -> MetadataResponse: ...
