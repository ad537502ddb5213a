"""Decoders of RequestHeader, v0 to v2.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.request_header import RequestHeader

unpack_hhi = Struct(">hhi").unpack_from
unpack_hhih = Struct(">hhih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> RequestHeader:
    pos = 0
    # request_api_key to the end
    request_api_key, request_api_version, correlation_id = unpack_hhi(buf, pos)
    # the message
    pos += 8
    return new(RequestHeader, (request_api_key, request_api_version, correlation_id, ""))


def decode_v1(buf: memoryview) -> RequestHeader:
    pos = 0
    end = len(buf)
    # request_api_key to client_id
    request_api_key, request_api_version, correlation_id, n = unpack_hhih(buf, pos)
    # client_id
    pos += 10
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        client_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # the message
    return new(RequestHeader, (request_api_key, request_api_version, correlation_id, client_id))


def decode_v2(buf: memoryview) -> RequestHeader:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # request_api_key to client_id
    request_api_key, request_api_version, correlation_id, n = unpack_hhih(buf, pos)
    # client_id
    pos += 10
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        client_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(RequestHeader, (request_api_key, request_api_version, correlation_id, client_id))


DECODERS: Final[dict[int, Callable[[memoryview], RequestHeader]]] = {0: decode_v0, 1: decode_v1, 2: decode_v2}
PLACES: Final = """\
20 24 29 46 50 73 the message
22 request_api_key to the end
32 54 request_api_key to client_id
34 56 client_id
68 tags
"""
