"""HeartbeatResponse, v0 to v4.

Made by `make codec` from protocol/schema/12_heartbeat.txt: do not edit.
"""

from typing import NamedTuple


class HeartbeatResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # v0+
