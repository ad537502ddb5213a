"""RenewDelegationTokenResponse, v0 to v2.

Made by `make codec` from protocol/schema/39_renew_delegation_token.txt: do not edit.
"""

from typing import NamedTuple


class RenewDelegationTokenResponse(NamedTuple):
    error_code: int = 0  # v0+
    expiry_timestamp_ms: int = 0  # v0+
    throttle_time_ms: int = 0  # v0+
