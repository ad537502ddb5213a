"""Encoders of ProduceRequest, v0 to v11.

Made by `make codec` from protocol/schema/00_produce.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import SMALL_RECORDS_BYTES, encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hi = Struct(">hi").pack
pack_hiB = Struct(">hiB").pack
pack_hii = Struct(">hii").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, acks, timeout_ms, topic_data = msg
    # acks to topic_data
    put(pack_hii(acks, timeout_ms, len(topic_data)))
    # topic_data
    for name, partition_data in topic_data:
        # topic_data.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topic_data.partition_data
        put(pack_i(len(partition_data)))
        for index, records in partition_data:
            # topic_data.partition_data.index to topic_data.partition_data.records
            put(pack_i(index))
            # topic_data.partition_data.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, acks, timeout_ms, topic_data = msg
    # transactional_id
    if transactional_id is None:
        put(b"\xff\xff")
    else:
        text = transactional_id.encode()
        put(pack_h(len(text)))
        put(text)
    # acks to topic_data
    put(pack_hii(acks, timeout_ms, len(topic_data)))
    # topic_data
    for name, partition_data in topic_data:
        # topic_data.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topic_data.partition_data
        put(pack_i(len(partition_data)))
        for index, records in partition_data:
            # topic_data.partition_data.index to topic_data.partition_data.records
            put(pack_i(index))
            # topic_data.partition_data.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, acks, timeout_ms, topic_data = msg
    # transactional_id
    if transactional_id is None:
        put(b"\x00")
    else:
        text = transactional_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topic_data
    n = len(topic_data) + 1
    if n < 128:
        # acks to topic_data
        put(pack_hiB(acks, timeout_ms, n))
    # topic_data
    else:
        # acks to topic_data
        put(pack_hi(acks, timeout_ms))
        # topic_data
        put(encode_uvarint(n))
    for name, partition_data in topic_data:
        # topic_data.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_data.partition_data
        n = len(partition_data) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for index, records in partition_data:
            # topic_data.partition_data.index to topic_data.partition_data.records
            put(pack_i(index))
            # topic_data.partition_data.records
            if records is None:
                put(b"\x00")
            else:
                n = len(records) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
            # topic_data.partition_data
            put(b"\x00")
        # topic_data
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
    3: encode_v3,
    4: encode_v3,
    5: encode_v3,
    6: encode_v3,
    7: encode_v3,
    8: encode_v3,
    9: encode_v9,
    10: encode_v9,
    11: encode_v9,
}
PLACES: Final = """\
21 50 56 92 98 150 the message
26 68 114 118 acks to topic_data
28 70 111 116 120 148 topic_data
30 72 123 topic_data.name
34 76 128 146 topic_data.partition_data
37 79 132 topic_data.partition_data.index to topic_data.partition_data.records
39 81 134 topic_data.partition_data.records
61 103 transactional_id
"""
