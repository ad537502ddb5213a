"""SaslAuthenticateRequest, v0 to v2.

Made by `make codec` from protocol/schema/36_sasl_authenticate.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse


class _SaslAuthenticateRequest(NamedTuple):
    auth_bytes: bytes = b""  # v0+


class SaslAuthenticateRequest(_SaslAuthenticateRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> SaslAuthenticateResponse: ...
