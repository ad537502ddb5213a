"""Encoders of CreateDelegationTokenResponse, v0 to v3.

Made by `make codec` from protocol/schema/38_create_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hh = Struct(">hh").pack
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
    (
        error_code,
        principal_type,
        principal_name,
        _,
        _,
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
    ) = msg
    # principal_type
    text = principal_type.encode()
    # error_code to principal_type
    put(pack_hh(error_code, len(text)))
    # principal_type
    put(text)
    # principal_name
    text = principal_name.encode()
    put(pack_h(len(text)))
    put(text)
    # token_id
    text = token_id.encode()
    # issue_timestamp_ms to token_id
    put(pack_qqqh(issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, len(text)))
    # token_id
    put(text)
    # hmac
    put(pack_i(len(hmac)))
    put(hmac)
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
    (
        error_code,
        principal_type,
        principal_name,
        _,
        _,
        issue_timestamp_ms,
        expiry_timestamp_ms,
        max_timestamp_ms,
        token_id,
        hmac,
        throttle_time_ms,
    ) = msg
    # principal_type
    text = principal_type.encode()
    n = len(text) + 1
    if n < 128:
        # error_code to principal_type
        put(pack_hB(error_code, n))
    # principal_type
    else:
        # error_code to principal_type
        put(pack_h(error_code))
        # principal_type
        put(encode_string_length(n))
    put(text)
    # principal_name
    text = principal_name.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # token_id
    text = token_id.encode()
    n = len(text) + 1
    if n < 128:
        # issue_timestamp_ms to token_id
        put(pack_qqqB(issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n))
    # token_id
    else:
        # issue_timestamp_ms to token_id
        put(pack_qqq(issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms))
        # token_id
        put(encode_string_length(n))
    put(text)
    # hmac
    n = len(hmac) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(hmac)
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
    ) = msg
    # principal_type
    text = principal_type.encode()
    n = len(text) + 1
    if n < 128:
        # error_code to principal_type
        put(pack_hB(error_code, n))
    # principal_type
    else:
        # error_code to principal_type
        put(pack_h(error_code))
        # principal_type
        put(encode_string_length(n))
    put(text)
    # principal_name
    text = principal_name.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # token_requester_principal_type
    text = token_requester_principal_type.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # token_requester_principal_name
    text = token_requester_principal_name.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # token_id
    text = token_id.encode()
    n = len(text) + 1
    if n < 128:
        # issue_timestamp_ms to token_id
        put(pack_qqqB(issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, n))
    # token_id
    else:
        # issue_timestamp_ms to token_id
        put(pack_qqq(issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms))
        # token_id
        put(encode_string_length(n))
    put(text)
    # hmac
    n = len(hmac) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(hmac)
    # throttle_time_ms to the end
    put(pack_ix(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v3}
PLACES: Final = """\
24 62 68 122 128 192 the message
41 45 85 91 95 145 151 155 principal_type
43 89 93 149 153 error_code to principal_type
47 98 158 principal_name
51 55 103 109 113 173 179 183 token_id
53 107 111 177 181 issue_timestamp_ms to token_id
57 116 186 hmac
60 120 190 throttle_time_ms to the end
163 token_requester_principal_type
168 token_requester_principal_name
"""
