"""SyncGroupResponse, v0 to v5.

Made by `make codec` from protocol/schema/14_sync_group.txt: do not edit.
"""

from typing import NamedTuple


class SyncGroupResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # v0+
    protocol_type: str | None = None  # v5+, null v5+
    protocol_name: str | None = None  # v5+, null v5+
    assignment: bytes = b""  # v0+
