"""CreateDelegationTokenResponse, v0 to v3.

Made by `make codec` from protocol/schema/38_create_delegation_token.txt: do not edit.
"""

from typing import NamedTuple


class CreateDelegationTokenResponse(NamedTuple):
    error_code: int = 0  # v0+
    principal_type: str = ""  # v0+
    principal_name: str = ""  # v0+
    token_requester_principal_type: str = ""  # v3+
    token_requester_principal_name: str = ""  # v3+
    issue_timestamp_ms: int = 0  # v0+
    expiry_timestamp_ms: int = 0  # v0+
    max_timestamp_ms: int = 0  # v0+
    token_id: str = ""  # v0+
    hmac: bytes = b""  # v0+
    throttle_time_ms: int = 0  # v0+
