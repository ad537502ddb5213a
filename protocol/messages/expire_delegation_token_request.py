"""ExpireDelegationTokenRequest, v0 to v2.

Made by `make codec` from protocol/schema/40_expire_delegation_token.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.expire_delegation_token_response import ExpireDelegationTokenResponse


class _ExpireDelegationTokenRequest(NamedTuple):
    hmac: bytes = b""  # v0+
    expiry_time_period_ms: int = 0  # v0+


class ExpireDelegationTokenRequest(_ExpireDelegationTokenRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> ExpireDelegationTokenResponse: ...
