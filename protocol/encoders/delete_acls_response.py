"""Encoders of DeleteAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/31_delete_acls.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_bb = Struct(">bb").pack
pack_bbx = Struct(">bbx").pack
pack_bh = Struct(">bh").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, filter_results = msg
    # throttle_time_ms to filter_results
    put(pack_ii(throttle_time_ms, len(filter_results)))
    # filter_results
    for error_code, error_message, matching_acls in filter_results:
        # filter_results.error_code to filter_results.error_message
        put(pack_h(error_code))
        # filter_results.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # filter_results.matching_acls
        put(pack_i(len(matching_acls)))
        for (
            error_code_2,
            error_message_2,
            resource_type,
            resource_name,
            _,
            principal,
            host,
            operation,
            permission_type,
        ) in matching_acls:
            # filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
            put(pack_h(error_code_2))
            # filter_results.matching_acls.error_message
            if error_message_2 is None:
                put(b"\xff\xff")
            else:
                text = error_message_2.encode()
                put(pack_h(len(text)))
                put(text)
            # filter_results.matching_acls.resource_name
            text = resource_name.encode()
            # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
            put(pack_bh(resource_type, len(text)))
            # filter_results.matching_acls.resource_name
            put(text)
            # filter_results.matching_acls.principal
            text = principal.encode()
            put(pack_h(len(text)))
            put(text)
            # filter_results.matching_acls.host
            text = host.encode()
            put(pack_h(len(text)))
            put(text)
            # filter_results.matching_acls.operation to filter_results.matching_acls
            put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, filter_results = msg
    # throttle_time_ms to filter_results
    put(pack_ii(throttle_time_ms, len(filter_results)))
    # filter_results
    for error_code, error_message, matching_acls in filter_results:
        # filter_results.error_code to filter_results.error_message
        put(pack_h(error_code))
        # filter_results.error_message
        if error_message is None:
            put(b"\xff\xff")
        else:
            text = error_message.encode()
            put(pack_h(len(text)))
            put(text)
        # filter_results.matching_acls
        put(pack_i(len(matching_acls)))
        for (
            error_code_2,
            error_message_2,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        ) in matching_acls:
            # filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
            put(pack_h(error_code_2))
            # filter_results.matching_acls.error_message
            if error_message_2 is None:
                put(b"\xff\xff")
            else:
                text = error_message_2.encode()
                put(pack_h(len(text)))
                put(text)
            # filter_results.matching_acls.resource_name
            text = resource_name.encode()
            # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
            put(pack_bh(resource_type, len(text)))
            # filter_results.matching_acls.resource_name
            put(text)
            # filter_results.matching_acls.principal
            text = principal.encode()
            # filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
            put(pack_bh(pattern_type, len(text)))
            # filter_results.matching_acls.principal
            put(text)
            # filter_results.matching_acls.host
            text = host.encode()
            put(pack_h(len(text)))
            put(text)
            # filter_results.matching_acls.operation to filter_results.matching_acls
            put(pack_bb(operation, permission_type))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, filter_results = msg
    # filter_results
    n = len(filter_results) + 1
    if n < 128:
        # throttle_time_ms to filter_results
        put(pack_iB(throttle_time_ms, n))
    # filter_results
    else:
        # throttle_time_ms to filter_results
        put(pack_i(throttle_time_ms))
        # filter_results
        put(encode_uvarint(n))
    for error_code, error_message, matching_acls in filter_results:
        # filter_results.error_code to filter_results.error_message
        put(pack_h(error_code))
        # filter_results.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # filter_results.matching_acls
        n = len(matching_acls) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            error_code_2,
            error_message_2,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        ) in matching_acls:
            # filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
            put(pack_h(error_code_2))
            # filter_results.matching_acls.error_message
            if error_message_2 is None:
                put(b"\x00")
            else:
                text = error_message_2.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # filter_results.matching_acls.resource_name
            text = resource_name.encode()
            n = len(text) + 1
            if n < 128:
                # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
                put(pack_bB(resource_type, n))
            # filter_results.matching_acls.resource_name
            else:
                # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
                put(pack_b(resource_type))
                # filter_results.matching_acls.resource_name
                put(encode_string_length(n))
            put(text)
            # filter_results.matching_acls.principal
            text = principal.encode()
            n = len(text) + 1
            if n < 128:
                # filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
                put(pack_bB(pattern_type, n))
            # filter_results.matching_acls.principal
            else:
                # filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
                put(pack_b(pattern_type))
                # filter_results.matching_acls.principal
                put(encode_string_length(n))
            put(text)
            # filter_results.matching_acls.host
            text = host.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # filter_results.matching_acls.operation to filter_results.matching_acls
            put(pack_bbx(operation, permission_type))
        # filter_results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
25 81 87 145 151 237 the message
30 92 159 163 throttle_time_ms to filter_results
32 94 156 161 165 235 filter_results
34 96 168 filter_results.error_code to filter_results.error_message
36 98 170 filter_results.error_message
43 105 178 filter_results.matching_acls
56 118 192 filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
58 120 194 filter_results.matching_acls.error_message
65 69 127 131 202 208 212 filter_results.matching_acls.resource_name
67 129 206 210 filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
71 133 137 215 221 225 filter_results.matching_acls.principal
75 139 228 filter_results.matching_acls.host
79 143 233 filter_results.matching_acls.operation to filter_results.matching_acls
135 219 223 filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
"""
