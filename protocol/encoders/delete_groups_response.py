"""Encoders of DeleteGroupsResponse, v0 to v2.

Made by `make codec` from protocol/schema/42_delete_groups.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hx = Struct(">hx").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for group_id, error_code in results:
        # results.group_id
        text = group_id.encode()
        put(pack_h(len(text)))
        put(text)
        # results.error_code to results
        put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # results
    n = len(results) + 1
    if n < 128:
        # throttle_time_ms to results
        put(pack_iB(throttle_time_ms, n))
    # results
    else:
        # throttle_time_ms to results
        put(pack_i(throttle_time_ms))
        # results
        put(encode_uvarint(n))
    for group_id, error_code in results:
        # results.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # results.error_code to results
        put(pack_hx(error_code))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
21 36 42 66 the message
26 50 54 throttle_time_ms to results
28 47 52 56 results
30 59 results.group_id
34 64 results.error_code to results
"""
