"""JoinGroupRequest, v0 to v9.

Made by `make codec` from protocol/schema/11_join_group.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.join_group_response import JoinGroupResponse


class JoinGroupRequestProtocol(NamedTuple):
    name: str = ""  # v0+
    metadata: bytes = b""  # v0+


class _JoinGroupRequest(NamedTuple):
    group_id: str = ""  # v0+
    session_timeout_ms: int = 0  # v0+
    rebalance_timeout_ms: int = -1  # v1+
    member_id: str = ""  # v0+
    group_instance_id: str | None = None  # v5+, null v5+
    protocol_type: str = ""  # v0+
    protocols: Sequence[JoinGroupRequestProtocol] = ()  # v0+
    reason: str | None = None  # v8+, null v8+


class JoinGroupRequest(_JoinGroupRequest):
    __slots__ = ()
    JoinGroupRequestProtocol: TypeAlias = JoinGroupRequestProtocol
    if TYPE_CHECKING:

        def _answer_(self) -> JoinGroupResponse: ...
