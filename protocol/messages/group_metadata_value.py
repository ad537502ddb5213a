"""GroupMetadataValue, v0 to v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class MemberMetadata(NamedTuple):
    member_id: str = ""  # v0+
    group_instance_id: str | None = None  # v3+, null v3+
    client_id: str = ""  # v0+
    client_host: str = ""  # v0+
    rebalance_timeout: int = -1  # v1+
    session_timeout: int = 0  # v0+
    subscription: bytes = b""  # v0+
    assignment: bytes = b""  # v0+


class _GroupMetadataValue(NamedTuple):
    protocol_type: str = ""  # v0+
    generation: int = 0  # v0+
    protocol: str | None = ""  # v0+, null v0+
    leader: str | None = ""  # v0+, null v0+
    current_state_timestamp: int = -1  # v2+
    members: Sequence[MemberMetadata] = ()  # v0+


class GroupMetadataValue(_GroupMetadataValue):
    __slots__ = ()
    MemberMetadata: TypeAlias = MemberMetadata
