"""Encoders of StopReplicaResponse, v0 to v4.

Made by `make codec` from protocol/schema/05_stop_replica.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hi = Struct(">hi").pack
pack_ih = Struct(">ih").pack
pack_ihx = Struct(">ihx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, partition_errors = msg
    # error_code to partition_errors
    put(pack_hi(error_code, len(partition_errors)))
    # partition_errors
    for topic_name, partition_index, error_code_2 in partition_errors:
        # partition_errors.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # partition_errors.partition_index to partition_errors
        put(pack_ih(partition_index, error_code_2))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, partition_errors = msg
    # partition_errors
    n = len(partition_errors) + 1
    if n < 128:
        # error_code to partition_errors
        put(pack_hB(error_code, n))
    # partition_errors
    else:
        # error_code to partition_errors
        put(pack_h(error_code))
        # partition_errors
        put(encode_uvarint(n))
    for topic_name, partition_index, error_code_2 in partition_errors:
        # partition_errors.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # partition_errors.partition_index to partition_errors
        put(pack_ihx(partition_index, error_code_2))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
}
PLACES: Final = """\
21 36 42 66 the message
26 50 54 error_code to partition_errors
28 47 52 56 partition_errors
30 59 partition_errors.topic_name
34 64 partition_errors.partition_index to partition_errors
"""
