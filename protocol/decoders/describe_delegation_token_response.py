"""Decoders of DescribeDelegationTokenResponse, v0 to v3.

Made by `make codec` from protocol/schema/41_describe_delegation_token.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_delegation_token_response import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hi = Struct(">hi").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_qqqB = Struct(">qqqB").unpack_from
unpack_qqqh = Struct(">qqqh").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeDelegationTokenResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to tokens
    error_code, tokens_count = unpack_hi(buf, pos)
    # tokens
    pos += 6
    if tokens_count < 0:
        raise Malformed(f"invalid length {tokens_count}")
    if tokens_count * 38 > end - pos:
        raise Malformed(f"{tokens_count} elements announced, {end - pos} bytes remain")
    budget -= tokens_count * 700
    if budget < 0:
        raise Malformed(f"{tokens_count} more would take more than {DECODED_BYTES_MAX} bytes")
    tokens = []
    for _ in range(tokens_count):
        # tokens.principal_type
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # tokens.principal_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        principal_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # tokens.issue_timestamp to tokens.token_id
        issue_timestamp, expiry_timestamp, max_timestamp, n = unpack_qqqh(buf, pos)
        # tokens.token_id
        pos += 26
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        token_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # tokens.hmac
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        hmac = bytes(buf[pos:stop])
        pos = stop
        # tokens.renewers
        (renewers_count,) = unpack_i(buf, pos)
        pos += 4
        if renewers_count < 0:
            raise Malformed(f"invalid length {renewers_count}")
        if renewers_count * 4 > end - pos:
            raise Malformed(f"{renewers_count} elements announced, {end - pos} bytes remain")
        budget -= renewers_count * 260
        if budget < 0:
            raise Malformed(f"{renewers_count} more would take more than {DECODED_BYTES_MAX} bytes")
        renewers = []
        for _ in range(renewers_count):
            # tokens.renewers.principal_type
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal_type_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # tokens.renewers.principal_name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal_name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # tokens.renewers
            renewers.append(new(DescribedDelegationTokenRenewer, (principal_type_2, principal_name_2)))
        # tokens
        tokens.append(
            new(
                DescribedDelegationToken,
                (
                    principal_type,
                    principal_name,
                    "",
                    "",
                    issue_timestamp,
                    expiry_timestamp,
                    max_timestamp,
                    token_id,
                    hmac,
                    renewers,
                ),
            )
        )
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(DescribeDelegationTokenResponse, (error_code, tokens, throttle_time_ms))


def decode_v2(buf: memoryview) -> DescribeDelegationTokenResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to tokens
    error_code, tokens_count = unpack_hB(buf, pos)
    # tokens
    pos += 3
    if tokens_count > 127:
        tokens_count, pos = read_uvarint(buf, pos - 1)
    tokens_count -= 1
    if tokens_count < 0:
        raise Malformed(f"invalid length {tokens_count}")
    if tokens_count * 30 > end - pos:
        raise Malformed(f"{tokens_count} elements announced, {end - pos} bytes remain")
    budget -= tokens_count * 700
    if budget < 0:
        raise Malformed(f"{tokens_count} more would take more than {DECODED_BYTES_MAX} bytes")
    tokens = []
    for _ in range(tokens_count):
        # tokens.principal_type
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
        # tokens.principal_name
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
        # tokens.issue_timestamp to tokens.token_id
        issue_timestamp, expiry_timestamp, max_timestamp, n = unpack_qqqB(buf, pos)
        # tokens.token_id
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
        # tokens.hmac
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
        # tokens.renewers
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
            raise Malformed(f"{renewers_count} more would take more than {DECODED_BYTES_MAX} bytes")
        renewers = []
        for _ in range(renewers_count):
            # tokens.renewers.principal_type
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
            principal_type_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # tokens.renewers.principal_name
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
            principal_name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # tokens.renewers.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # tokens.renewers
            renewers.append(new(DescribedDelegationTokenRenewer, (principal_type_2, principal_name_2)))
        # tokens.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # tokens
        tokens.append(
            new(
                DescribedDelegationToken,
                (
                    principal_type,
                    principal_name,
                    "",
                    "",
                    issue_timestamp,
                    expiry_timestamp,
                    max_timestamp,
                    token_id,
                    hmac,
                    renewers,
                ),
            )
        )
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeDelegationTokenResponse, (error_code, tokens, throttle_time_ms))


def decode_v3(buf: memoryview) -> DescribeDelegationTokenResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to tokens
    error_code, tokens_count = unpack_hB(buf, pos)
    # tokens
    pos += 3
    if tokens_count > 127:
        tokens_count, pos = read_uvarint(buf, pos - 1)
    tokens_count -= 1
    if tokens_count < 0:
        raise Malformed(f"invalid length {tokens_count}")
    if tokens_count * 32 > end - pos:
        raise Malformed(f"{tokens_count} elements announced, {end - pos} bytes remain")
    budget -= tokens_count * 860
    if budget < 0:
        raise Malformed(f"{tokens_count} more would take more than {DECODED_BYTES_MAX} bytes")
    tokens = []
    for _ in range(tokens_count):
        # tokens.principal_type
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
        # tokens.principal_name
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
        # tokens.token_requester_principal_type
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
        # tokens.token_requester_principal_name
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
        # tokens.issue_timestamp to tokens.token_id
        issue_timestamp, expiry_timestamp, max_timestamp, n = unpack_qqqB(buf, pos)
        # tokens.token_id
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
        # tokens.hmac
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
        # tokens.renewers
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
            raise Malformed(f"{renewers_count} more would take more than {DECODED_BYTES_MAX} bytes")
        renewers = []
        for _ in range(renewers_count):
            # tokens.renewers.principal_type
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
            principal_type_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # tokens.renewers.principal_name
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
            principal_name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # tokens.renewers.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # tokens.renewers
            renewers.append(new(DescribedDelegationTokenRenewer, (principal_type_2, principal_name_2)))
        # tokens.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # tokens
        tokens.append(
            new(
                DescribedDelegationToken,
                (
                    principal_type,
                    principal_name,
                    token_requester_principal_type,
                    token_requester_principal_name,
                    issue_timestamp,
                    expiry_timestamp,
                    max_timestamp,
                    token_id,
                    hmac,
                    renewers,
                ),
            )
        )
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeDelegationTokenResponse, (error_code, tokens, throttle_time_ms))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeDelegationTokenResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
}
PLACES: Final = """\
30 142 147 307 311 501 the message
34 151 315 error_code to tokens
36 122 153 283 317 477 tokens
47 167 331 tokens.principal_type
57 182 346 tokens.principal_name
67 197 391 tokens.issue_timestamp to tokens.token_id
69 199 393 tokens.token_id
78 213 407 tokens.hmac
88 120 226 276 420 470 tokens.renewers
100 241 435 tokens.renewers.principal_type
110 256 450 tokens.renewers.principal_name
140 throttle_time_ms to the end
271 465 tokens.renewers.tags
278 472 tokens.tags
301 495 throttle_time_ms to tags
303 497 tags
361 tokens.token_requester_principal_type
376 tokens.token_requester_principal_name
"""
