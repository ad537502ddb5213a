"""HeartbeatRequest, v0 to v4.

Made by `make codec` from protocol/schema/12_heartbeat.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.heartbeat_response import HeartbeatResponse


class _HeartbeatRequest(NamedTuple):
    group_id: str = ""  # v0+
    generation_id: int = 0  # v0+
    member_id: str = ""  # v0+
    group_instance_id: str | None = None  # v3+, null v3+


class HeartbeatRequest(_HeartbeatRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> HeartbeatResponse: ...
