"""SyncGroupRequest, v0 to v5.

Made by `make codec` from protocol/schema/14_sync_group.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.sync_group_response import SyncGroupResponse


class SyncGroupRequestAssignment(NamedTuple):
    member_id: str = ""  # v0+
    assignment: bytes = b""  # v0+


class _SyncGroupRequest(NamedTuple):
    group_id: str = ""  # v0+
    generation_id: int = 0  # v0+
    member_id: str = ""  # v0+
    group_instance_id: str | None = None  # v3+, null v3+
    protocol_type: str | None = None  # v5+, null v5+
    protocol_name: str | None = None  # v5+, null v5+
    assignments: Sequence[SyncGroupRequestAssignment] = ()  # v0+


class SyncGroupRequest(_SyncGroupRequest):
    __slots__ = ()
    SyncGroupRequestAssignment: TypeAlias = SyncGroupRequestAssignment
    if TYPE_CHECKING:

        def _answer_(self) -> SyncGroupResponse: ...
