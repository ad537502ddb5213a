"""Encoders of ConsumerGroupDescribeRequest, v0.

Made by `make codec` from protocol/schema/69_consumer_group_describe.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0x = Struct(">?x").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_ids, include_authorized_operations = msg
    # group_ids
    n = len(group_ids) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in group_ids:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # include_authorized_operations to the end
    put(pack_B0x(include_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
17 32 the message
22 group_ids
30 include_authorized_operations to the end
"""
