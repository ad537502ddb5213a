"""SaslAuthenticateResponse, v0 to v2.

Made by `make codec` from protocol/schema/36_sasl_authenticate.txt: do not edit.
"""

from typing import NamedTuple


class SaslAuthenticateResponse(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    auth_bytes: bytes = b""  # v0+
    session_lifetime_ms: int = 0  # v1+
