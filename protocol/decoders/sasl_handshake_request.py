"""Decoders of SaslHandshakeRequest, v0 to v1.

Made by `make codec` from protocol/schema/17_sasl_handshake.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.sasl_handshake_request import SaslHandshakeRequest

unpack_h = Struct(">h").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> SaslHandshakeRequest:
    pos = 0
    end = len(buf)
    # mechanism
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    mechanism = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    return new(SaslHandshakeRequest, (mechanism,))


DECODERS: Final[dict[int, Callable[[memoryview], SaslHandshakeRequest]]] = {0: decode_v0, 1: decode_v0}
PLACES: Final = """\
18 31 the message
21 mechanism
"""
