"""SaslHandshakeResponse, v0 to v1.

Made by `make codec` from protocol/schema/17_sasl_handshake.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple


class SaslHandshakeResponse(NamedTuple):
    error_code: int = 0  # v0+
    mechanisms: Sequence[str] = ()  # v0+
