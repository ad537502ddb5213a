"""Encoders of OffsetFetchResponse, v0 to v9.

Made by `make codec` from protocol/schema/09_offset_fetch.txt: do not edit.
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
pack_iq = Struct(">iq").pack
pack_iqi = Struct(">iqi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topics, _, _ = msg
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, metadata, error_code in partitions:
            # topics.partitions.partition_index to topics.partitions.metadata
            put(pack_iq(partition_index, committed_offset))
            # topics.partitions.metadata
            if metadata is None:
                put(b"\xff\xff")
            else:
                text = metadata.encode()
                put(pack_h(len(text)))
                put(text)
            # topics.partitions.error_code to topics.partitions
            put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topics, error_code, _ = msg
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, metadata, error_code_2 in partitions:
            # topics.partitions.partition_index to topics.partitions.metadata
            put(pack_iq(partition_index, committed_offset))
            # topics.partitions.metadata
            if metadata is None:
                put(b"\xff\xff")
            else:
                text = metadata.encode()
                put(pack_h(len(text)))
                put(text)
            # topics.partitions.error_code to topics.partitions
            put(pack_h(error_code_2))
    # error_code to the end
    put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics, error_code, _ = msg
    # throttle_time_ms to topics
    put(pack_ii(throttle_time_ms, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, metadata, error_code_2 in partitions:
            # topics.partitions.partition_index to topics.partitions.metadata
            put(pack_iq(partition_index, committed_offset))
            # topics.partitions.metadata
            if metadata is None:
                put(b"\xff\xff")
            else:
                text = metadata.encode()
                put(pack_h(len(text)))
                put(text)
            # topics.partitions.error_code to topics.partitions
            put(pack_h(error_code_2))
    # error_code to the end
    put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics, error_code, _ = msg
    # throttle_time_ms to topics
    put(pack_ii(throttle_time_ms, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, committed_leader_epoch, metadata, error_code_2 in partitions:
            # topics.partitions.partition_index to topics.partitions.metadata
            put(pack_iqi(partition_index, committed_offset, committed_leader_epoch))
            # topics.partitions.metadata
            if metadata is None:
                put(b"\xff\xff")
            else:
                text = metadata.encode()
                put(pack_h(len(text)))
                put(text)
            # topics.partitions.error_code to topics.partitions
            put(pack_h(error_code_2))
    # error_code to the end
    put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics, error_code, _ = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_iB(throttle_time_ms, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_i(throttle_time_ms))
        # topics
        put(encode_uvarint(n))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, committed_offset, committed_leader_epoch, metadata, error_code_2 in partitions:
            # topics.partitions.partition_index to topics.partitions.metadata
            put(pack_iqi(partition_index, committed_offset, committed_leader_epoch))
            # topics.partitions.metadata
            if metadata is None:
                put(b"\x00")
            else:
                text = metadata.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics.partitions.error_code to topics.partitions
            put(pack_hx(error_code_2))
        # topics
        put(b"\x00")
    # error_code to the end
    put(pack_hx(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, groups = msg
    # groups
    n = len(groups) + 1
    if n < 128:
        # throttle_time_ms to groups
        put(pack_iB(throttle_time_ms, n))
    # groups
    else:
        # throttle_time_ms to groups
        put(pack_i(throttle_time_ms))
        # groups
        put(encode_uvarint(n))
    for group_id, topics, error_code in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.topics
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partitions in topics:
            # groups.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # groups.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for partition_index, committed_offset, committed_leader_epoch, metadata, error_code_2 in partitions:
                # groups.topics.partitions.partition_index to groups.topics.partitions.metadata
                put(pack_iqi(partition_index, committed_offset, committed_leader_epoch))
                # groups.topics.partitions.metadata
                if metadata is None:
                    put(b"\x00")
                else:
                    text = metadata.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # groups.topics.partitions.error_code to groups.topics.partitions
                put(pack_hx(error_code_2))
            # groups.topics
            put(b"\x00")
        # groups.error_code to groups
        put(pack_hx(error_code))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v3,
    4: encode_v3,
    5: encode_v5,
    6: encode_v6,
    7: encode_v6,
    8: encode_v8,
    9: encode_v8,
}
PLACES: Final = """\
23 49 55 83 89 118 124 153 159 201 207 258 the message
28 60 96 131 164 169 173 197 topics
31 63 98 133 176 topics.name
35 67 102 137 181 topics.partitions
38 70 105 140 185 topics.partitions.partition_index to topics.partitions.metadata
40 72 107 142 187 topics.partitions.metadata
47 79 114 149 195 topics.partitions.error_code to topics.partitions
81 116 151 199 error_code to the end
94 129 167 171 throttle_time_ms to topics
212 217 221 groups
215 219 throttle_time_ms to groups
224 groups.group_id
229 254 groups.topics
233 groups.topics.name
238 groups.topics.partitions
242 groups.topics.partitions.partition_index to groups.topics.partitions.metadata
244 groups.topics.partitions.metadata
252 groups.topics.partitions.error_code to groups.topics.partitions
256 groups.error_code to groups
"""
