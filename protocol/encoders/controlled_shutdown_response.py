"""Encoders of ControlledShutdownResponse, v0 to v3.

Made by `make codec` from protocol/schema/07_controlled_shutdown.txt: do not edit.
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
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, remaining_partitions = msg
    # error_code to remaining_partitions
    put(pack_hi(error_code, len(remaining_partitions)))
    # remaining_partitions
    for topic_name, partition_index in remaining_partitions:
        # remaining_partitions.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # remaining_partitions.partition_index to remaining_partitions
        put(pack_i(partition_index))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, remaining_partitions = msg
    # remaining_partitions
    n = len(remaining_partitions) + 1
    if n < 128:
        # error_code to remaining_partitions
        put(pack_hB(error_code, n))
    # remaining_partitions
    else:
        # error_code to remaining_partitions
        put(pack_h(error_code))
        # remaining_partitions
        put(encode_uvarint(n))
    for topic_name, partition_index in remaining_partitions:
        # remaining_partitions.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # remaining_partitions.partition_index to remaining_partitions
        put(pack_ix(partition_index))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v0, 3: encode_v3}
PLACES: Final = """\
21 36 42 66 the message
26 50 54 error_code to remaining_partitions
28 47 52 56 remaining_partitions
30 59 remaining_partitions.topic_name
34 64 remaining_partitions.partition_index to remaining_partitions
"""
