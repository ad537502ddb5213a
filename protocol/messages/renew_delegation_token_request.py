"""RenewDelegationTokenRequest, v0 to v2.

Made by `make codec` from protocol/schema/39_renew_delegation_token.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.renew_delegation_token_response import RenewDelegationTokenResponse


class _RenewDelegationTokenRequest(NamedTuple):
    hmac: bytes = b""  # v0+
    renew_period_ms: int = 0  # v0+


class RenewDelegationTokenRequest(_RenewDelegationTokenRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> RenewDelegationTokenResponse: ...
