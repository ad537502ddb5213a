"""Decoders of DescribeDelegationTokenRequest, v0 to v3.

Made by `make codec` from protocol/schema/41_describe_delegation_token.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeDelegationTokenRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # owners
    (owners_count,) = unpack_i(buf, pos)
    pos += 4
    if owners_count < -1:
        raise Malformed(f"length {owners_count}")
    if owners_count < 0:
        owners = None
    else:
        if owners_count * 4 > end - pos:
            raise Malformed(f"{owners_count} elements announced, {end - pos} bytes remain")
        budget -= owners_count * 260
        if budget < 0:
            raise Malformed(f"{owners_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        owners = []
        for _ in range(owners_count):
            # owners.principal_type
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # owners.principal_name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # owners
            owners.append(new(DescribeDelegationTokenOwner, (principal_type, principal_name)))
    # the message
    return new(DescribeDelegationTokenRequest, (owners,))


def decode_v2(buf: memoryview) -> DescribeDelegationTokenRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # owners
    owners_count = buf[pos]
    pos += 1
    if owners_count > 127:
        owners_count, pos = read_uvarint(buf, pos - 1)
    owners_count -= 1
    if owners_count < 0:
        owners = None
    else:
        if owners_count * 3 > end - pos:
            raise Malformed(f"{owners_count} elements announced, {end - pos} bytes remain")
        budget -= owners_count * 260
        if budget < 0:
            raise Malformed(f"{owners_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        owners = []
        for _ in range(owners_count):
            # owners.principal_type
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # owners.principal_name
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # owners.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # owners
            owners.append(new(DescribeDelegationTokenOwner, (principal_type, principal_name)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeDelegationTokenRequest, (owners,))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeDelegationTokenRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
24 65 69 131 the message
28 63 73 124 owners
43 89 owners.principal_type
53 104 owners.principal_name
119 owners.tags
126 tags
"""
