"""Encoders of DescribeDelegationTokenResponse, v0 to v3.

Made by `make codec` from protocol/schema/41_describe_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hi = Struct(">hi").pack
pack_i = Struct(">i").pack
pack_ix = Struct(">ix").pack
pack_qqq = Struct(">qqq").pack
pack_qqqB = Struct(">qqqB").pack
pack_qqqh = Struct(">qqqh").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, tokens, throttle_time_ms = msg
    # error_code to tokens
    put(pack_hi(error_code, len(tokens)))
    # tokens
    for (
        principal_type,
        principal_name,
        _,
        _,
        issue_timestamp,
        expiry_timestamp,
        max_timestamp,
        token_id,
        hmac,
        renewers,
    ) in tokens:
        # tokens.principal_type
        text = principal_type.encode()
        put(pack_h(len(text)))
        put(text)
        # tokens.principal_name
        text = principal_name.encode()
        put(pack_h(len(text)))
        put(text)
        # tokens.token_id
        text = token_id.encode()
        # tokens.issue_timestamp to tokens.token_id
        put(pack_qqqh(issue_timestamp, expiry_timestamp, max_timestamp, len(text)))
        # tokens.token_id
        put(text)
        # tokens.hmac
        put(pack_i(len(hmac)))
        put(hmac)
        # tokens.renewers
        put(pack_i(len(renewers)))
        for principal_type_2, principal_name_2 in renewers:
            # tokens.renewers.principal_type
            text = principal_type_2.encode()
            put(pack_h(len(text)))
            put(text)
            # tokens.renewers.principal_name
            text = principal_name_2.encode()
            put(pack_h(len(text)))
            put(text)
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, tokens, throttle_time_ms = msg
    # tokens
    n = len(tokens) + 1
    if n < 128:
        # error_code to tokens
        put(pack_hB(error_code, n))
    # tokens
    else:
        # error_code to tokens
        put(pack_h(error_code))
        # tokens
        put(encode_uvarint(n))
    for (
        principal_type,
        principal_name,
        _,
        _,
        issue_timestamp,
        expiry_timestamp,
        max_timestamp,
        token_id,
        hmac,
        renewers,
    ) in tokens:
        # tokens.principal_type
        text = principal_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # tokens.principal_name
        text = principal_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # tokens.token_id
        text = token_id.encode()
        n = len(text) + 1
        if n < 128:
            # tokens.issue_timestamp to tokens.token_id
            put(pack_qqqB(issue_timestamp, expiry_timestamp, max_timestamp, n))
        # tokens.token_id
        else:
            # tokens.issue_timestamp to tokens.token_id
            put(pack_qqq(issue_timestamp, expiry_timestamp, max_timestamp))
            # tokens.token_id
            put(encode_string_length(n))
        put(text)
        # tokens.hmac
        n = len(hmac) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(hmac)
        # tokens.renewers
        n = len(renewers) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for principal_type_2, principal_name_2 in renewers:
            # tokens.renewers.principal_type
            text = principal_type_2.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # tokens.renewers.principal_name
            text = principal_name_2.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # tokens.renewers
            put(b"\x00")
        # tokens
        put(b"\x00")
    # throttle_time_ms to the end
    put(pack_ix(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, tokens, throttle_time_ms = msg
    # tokens
    n = len(tokens) + 1
    if n < 128:
        # error_code to tokens
        put(pack_hB(error_code, n))
    # tokens
    else:
        # error_code to tokens
        put(pack_h(error_code))
        # tokens
        put(encode_uvarint(n))
    for (
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
    ) in tokens:
        # tokens.principal_type
        text = principal_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # tokens.principal_name
        text = principal_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # tokens.token_requester_principal_type
        text = token_requester_principal_type.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # tokens.token_requester_principal_name
        text = token_requester_principal_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # tokens.token_id
        text = token_id.encode()
        n = len(text) + 1
        if n < 128:
            # tokens.issue_timestamp to tokens.token_id
            put(pack_qqqB(issue_timestamp, expiry_timestamp, max_timestamp, n))
        # tokens.token_id
        else:
            # tokens.issue_timestamp to tokens.token_id
            put(pack_qqq(issue_timestamp, expiry_timestamp, max_timestamp))
            # tokens.token_id
            put(encode_string_length(n))
        put(text)
        # tokens.hmac
        n = len(hmac) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(hmac)
        # tokens.renewers
        n = len(renewers) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for principal_type_2, principal_name_2 in renewers:
            # tokens.renewers.principal_type
            text = principal_type_2.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # tokens.renewers.principal_name
            text = principal_name_2.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # tokens.renewers
            put(b"\x00")
        # tokens
        put(b"\x00")
    # throttle_time_ms to the end
    put(pack_ix(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v3}
PLACES: Final = """\
24 74 80 155 161 246 the message
29 88 92 169 173 error_code to tokens
31 85 90 94 151 166 171 175 242 tokens
44 108 189 tokens.principal_type
48 113 194 tokens.principal_name
52 56 118 124 128 209 215 219 tokens.token_id
54 122 126 213 217 tokens.issue_timestamp to tokens.token_id
58 131 222 tokens.hmac
61 135 149 226 240 tokens.renewers
64 139 230 tokens.renewers.principal_type
68 144 235 tokens.renewers.principal_name
72 153 244 throttle_time_ms to the end
199 tokens.token_requester_principal_type
204 tokens.token_requester_principal_name
"""
