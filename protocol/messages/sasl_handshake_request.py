"""SaslHandshakeRequest, v0 to v1.

Made by `make codec` from protocol/schema/17_sasl_handshake.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.sasl_handshake_response import SaslHandshakeResponse


class _SaslHandshakeRequest(NamedTuple):
    mechanism: str = ""  # v0+


class SaslHandshakeRequest(_SaslHandshakeRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> SaslHandshakeResponse: ...
