"""ConsumerGroupMemberMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class ClassicProtocol(NamedTuple):
    name: str = ""  # v0+
    metadata: bytes = b""  # v0+


class ClassicMemberMetadata(NamedTuple):
    session_timeout_ms: int = 0  # v0+
    supported_protocols: Sequence[ClassicProtocol] = ()  # v0+


class _ConsumerGroupMemberMetadataValue(NamedTuple):
    instance_id: str | None = ""  # v0+, null v0+
    rack_id: str | None = ""  # v0+, null v0+
    client_id: str = ""  # v0+
    client_host: str = ""  # v0+
    subscribed_topic_names: Sequence[str] = ()  # v0+
    subscribed_topic_regex: str | None = ""  # v0+, null v0+
    rebalance_timeout_ms: int = -1  # v0+
    server_assignor: str | None = ""  # v0+, null v0+
    classic_member_metadata: ClassicMemberMetadata | None = None  # v0+, null v0+, tag 0 v0+


class ConsumerGroupMemberMetadataValue(_ConsumerGroupMemberMetadataValue):
    __slots__ = ()
    ClassicProtocol: TypeAlias = ClassicProtocol
    ClassicMemberMetadata: TypeAlias = ClassicMemberMetadata
