"""Encoders of LeaderAndIsrResponse, v0 to v7.

Made by `make codec` from protocol/schema/04_leader_and_isr.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
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
    error_code, partition_errors, _ = msg
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


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, partition_errors, _ = msg
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


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, _, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # error_code to topics
        put(pack_hB(error_code, n))
    # topics
    else:
        # error_code to topics
        put(pack_h(error_code))
        # topics
        put(encode_uvarint(n))
    for topic_id, partition_errors in topics:
        # topics.partition_errors
        n = len(partition_errors) + 1
        if n < 128:
            # topics.topic_id to topics.partition_errors
            put(pack_16sB(topic_id, n))
        # topics.partition_errors
        else:
            # topics.topic_id to topics.partition_errors
            put(pack_16s(topic_id))
            # topics.partition_errors
            put(encode_uvarint(n))
        for _, partition_index, error_code_2 in partition_errors:
            # topics.partition_errors.partition_index to topics.partition_errors
            put(pack_ihx(partition_index, error_code_2))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v0,
    4: encode_v4,
    5: encode_v5,
    6: encode_v5,
    7: encode_v5,
}
PLACES: Final = """\
23 38 44 68 75 108 the message
28 52 56 error_code to partition_errors
30 49 54 58 partition_errors
32 61 partition_errors.topic_name
36 66 partition_errors.partition_index to partition_errors
80 85 89 106 topics
83 87 error_code to topics
92 97 101 topics.partition_errors
95 99 topics.topic_id to topics.partition_errors
104 topics.partition_errors.partition_index to topics.partition_errors
"""
