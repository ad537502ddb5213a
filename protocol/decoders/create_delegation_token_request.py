"""Decoders of CreateDelegationTokenRequest, v0 to v3.

Made by `make codec` from protocol/schema/38_create_delegation_token.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.create_delegation_token_request import CreatableRenewers, CreateDelegationTokenRequest
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_q = Struct(">q").unpack_from
unpack_qB = Struct(">qB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreateDelegationTokenRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # renewers
    (renewers_count,) = unpack_i(buf, pos)
    pos += 4
    if renewers_count < 0:
        raise Malformed(f"invalid length {renewers_count}")
    if renewers_count * 4 > end - pos:
        raise Malformed(f"{renewers_count} elements announced, {end - pos} bytes remain")
    budget -= renewers_count * 260
    if budget < 0:
        raise Malformed(f"{renewers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    renewers = []
    for _ in range(renewers_count):
        # renewers.principal_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # renewers.principal_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # renewers
        renewers.append(new(CreatableRenewers, (principal_type, principal_name)))
    # max_lifetime_ms to the end
    (max_lifetime_ms,) = unpack_q(buf, pos)
    # the message
    pos += 8
    return new(CreateDelegationTokenRequest, ("", "", renewers, max_lifetime_ms))


def decode_v2(buf: memoryview) -> CreateDelegationTokenRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # renewers
    renewers_count = buf[pos]
    pos += 1
    if renewers_count > 127:
        renewers_count, pos = read_uvarint(buf, pos - 1)
    renewers_count -= 1
    if renewers_count < 0:
        raise Malformed(f"invalid length {renewers_count}")
    if renewers_count * 3 > end - pos:
        raise Malformed(f"{renewers_count} elements announced, {end - pos} bytes remain")
    budget -= renewers_count * 260
    if budget < 0:
        raise Malformed(f"{renewers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    renewers = []
    for _ in range(renewers_count):
        # renewers.principal_type
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
        # renewers.principal_name
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
        # renewers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # renewers
        renewers.append(new(CreatableRenewers, (principal_type, principal_name)))
    # max_lifetime_ms to tags
    max_lifetime_ms, n = unpack_qB(buf, pos)
    # tags
    pos += 9
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(CreateDelegationTokenRequest, ("", "", renewers, max_lifetime_ms))


def decode_v3(buf: memoryview) -> CreateDelegationTokenRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # owner_principal_type
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        owner_principal_type = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        owner_principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # owner_principal_name
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        owner_principal_name = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        owner_principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # renewers
    renewers_count = buf[pos]
    pos += 1
    if renewers_count > 127:
        renewers_count, pos = read_uvarint(buf, pos - 1)
    renewers_count -= 1
    if renewers_count < 0:
        raise Malformed(f"invalid length {renewers_count}")
    if renewers_count * 3 > end - pos:
        raise Malformed(f"{renewers_count} elements announced, {end - pos} bytes remain")
    budget -= renewers_count * 260
    if budget < 0:
        raise Malformed(f"{renewers_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    renewers = []
    for _ in range(renewers_count):
        # renewers.principal_type
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
        # renewers.principal_name
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
        # renewers.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # renewers
        renewers.append(new(CreatableRenewers, (principal_type, principal_name)))
    # max_lifetime_ms to tags
    max_lifetime_ms, n = unpack_qB(buf, pos)
    # tags
    pos += 9
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(CreateDelegationTokenRequest, (owner_principal_type, owner_principal_name, renewers, max_lifetime_ms))


DECODERS: Final[dict[int, Callable[[memoryview], CreateDelegationTokenRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
}
PLACES: Final = """\
23 63 68 130 134 228 the message
27 59 72 122 170 220 renewers
39 87 185 renewers.principal_type
49 102 200 renewers.principal_name
61 max_lifetime_ms to the end
117 215 renewers.tags
124 222 max_lifetime_ms to tags
126 224 tags
138 owner_principal_type
154 owner_principal_name
"""
