"""Decoders of CreateDelegationTokenResponse, v0 to v3.

Made by `make codec` from protocol/schema/38_create_delegation_token.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_qqqB = Struct(">qqqB").unpack_from
unpack_qqqh = Struct(">qqqh").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreateDelegationTokenResponse:
    pos = 0
    end = len(buf)
    # error_code to principal_type
    error_code, n = unpack_hh(buf, pos)
    # principal_type
    pos += 4
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # principal_name
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # issue_timestamp_ms to token_id
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n = unpack_qqqh(buf, pos)
    # token_id
    pos += 26
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    token_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # hmac
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    hmac = bytes(buf[pos:stop])
    pos = stop
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(
        CreateDelegationTokenResponse,
        (
            error_code,
            principal_type,
            principal_name,
            "",
            "",
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
        ),
    )


def decode_v2(buf: memoryview) -> CreateDelegationTokenResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to principal_type
    error_code, n = unpack_hB(buf, pos)
    # principal_type
    pos += 3
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
    # principal_name
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
    # issue_timestamp_ms to token_id
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n = unpack_qqqB(buf, pos)
    # token_id
    pos += 25
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
    token_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # hmac
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    hmac = bytes(buf[pos:stop])
    pos = stop
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        CreateDelegationTokenResponse,
        (
            error_code,
            principal_type,
            principal_name,
            "",
            "",
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
        ),
    )


def decode_v3(buf: memoryview) -> CreateDelegationTokenResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to principal_type
    error_code, n = unpack_hB(buf, pos)
    # principal_type
    pos += 3
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
    # principal_name
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
    # token_requester_principal_type
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
    token_requester_principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # token_requester_principal_name
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
    token_requester_principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # issue_timestamp_ms to token_id
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n = unpack_qqqB(buf, pos)
    # token_id
    pos += 25
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
    token_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # hmac
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    hmac = bytes(buf[pos:stop])
    pos = stop
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        CreateDelegationTokenResponse,
        (
            error_code,
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], CreateDelegationTokenResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
}
PLACES: Final = """\
26 73 93 163 182 282 the message
29 97 186 error_code to principal_type
31 99 188 principal_type
40 113 202 principal_name
50 128 247 issue_timestamp_ms to token_id
52 130 249 token_id
61 144 263 hmac
71 throttle_time_ms to the end
157 276 throttle_time_ms to tags
159 278 tags
217 token_requester_principal_type
232 token_requester_principal_name
"""
