"""Decoders of SaslHandshakeResponse, v0 to v1.

Made by `make codec` from protocol/schema/17_sasl_handshake.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.sasl_handshake_response import SaslHandshakeResponse

unpack_h = Struct(">h").unpack_from
unpack_hi = Struct(">hi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> SaslHandshakeResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to mechanisms
    error_code, mechanisms_count = unpack_hi(buf, pos)
    # mechanisms
    pos += 6
    if mechanisms_count < 0:
        raise Malformed(f"invalid length {mechanisms_count}")
    if mechanisms_count * 2 > end - pos:
        raise Malformed(f"{mechanisms_count} elements announced, {end - pos} bytes remain")
    budget -= mechanisms_count * 100
    if budget < 0:
        raise Malformed(f"{mechanisms_count} more would take more than {DECODED_BYTES_MAX} bytes")
    mechanisms = []
    for _ in range(mechanisms_count):
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        mechanisms.append(one)
    # the message
    return new(SaslHandshakeResponse, (error_code, mechanisms))


DECODERS: Final[dict[int, Callable[[memoryview], SaslHandshakeResponse]]] = {0: decode_v0, 1: decode_v0}
PLACES: Final = """\
20 47 the message
24 error_code to mechanisms
26 mechanisms
"""
