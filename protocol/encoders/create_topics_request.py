"""Encoders of CreateTopicsRequest, v0 to v7.

Made by `make codec` from protocol/schema/19_create_topics.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_iB0 = Struct(">i?").pack
pack_iB0x = Struct(">i?x").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihi = Struct(">ihi").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms, _ = msg
    # topics
    put(pack_i(len(topics)))
    for name, num_partitions, replication_factor, assignments, configs in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.num_partitions to topics.assignments
        put(pack_ihi(num_partitions, replication_factor, len(assignments)))
        # topics.assignments
        for partition_index, broker_ids in assignments:
            # topics.assignments.partition_index to topics.assignments.broker_ids
            put(pack_ii(partition_index, len(broker_ids)))
            # topics.assignments.broker_ids
            put(pack(f">{len(broker_ids)}i", *broker_ids))
        # topics.configs
        put(pack_i(len(configs)))
        for name_2, value in configs:
            # topics.configs.name
            text = name_2.encode()
            put(pack_h(len(text)))
            put(text)
            # topics.configs.value
            if value is None:
                put(b"\xff\xff")
            else:
                text = value.encode()
                put(pack_h(len(text)))
                put(text)
    # timeout_ms to the end
    put(pack_i(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms, validate_only = msg
    # topics
    put(pack_i(len(topics)))
    for name, num_partitions, replication_factor, assignments, configs in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.num_partitions to topics.assignments
        put(pack_ihi(num_partitions, replication_factor, len(assignments)))
        # topics.assignments
        for partition_index, broker_ids in assignments:
            # topics.assignments.partition_index to topics.assignments.broker_ids
            put(pack_ii(partition_index, len(broker_ids)))
            # topics.assignments.broker_ids
            put(pack(f">{len(broker_ids)}i", *broker_ids))
        # topics.configs
        put(pack_i(len(configs)))
        for name_2, value in configs:
            # topics.configs.name
            text = name_2.encode()
            put(pack_h(len(text)))
            put(text)
            # topics.configs.value
            if value is None:
                put(b"\xff\xff")
            else:
                text = value.encode()
                put(pack_h(len(text)))
                put(text)
    # timeout_ms to the end
    put(pack_iB0(timeout_ms, validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms, validate_only = msg
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, num_partitions, replication_factor, assignments, configs in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.assignments
        n = len(assignments) + 1
        if n < 128:
            # topics.num_partitions to topics.assignments
            put(pack_ihB(num_partitions, replication_factor, n))
        # topics.assignments
        else:
            # topics.num_partitions to topics.assignments
            put(pack_ih(num_partitions, replication_factor))
            # topics.assignments
            put(encode_uvarint(n))
        for partition_index, broker_ids in assignments:
            # topics.assignments.broker_ids
            n = len(broker_ids) + 1
            if n < 128:
                # topics.assignments.partition_index to topics.assignments.broker_ids
                put(pack_iB(partition_index, n))
            # topics.assignments.broker_ids
            else:
                # topics.assignments.partition_index to topics.assignments.broker_ids
                put(pack_i(partition_index))
                # topics.assignments.broker_ids
                put(encode_uvarint(n))
            put(pack(f">{len(broker_ids)}i", *broker_ids))
            # topics.assignments
            put(b"\x00")
        # topics.configs
        n = len(configs) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name_2, value in configs:
            # topics.configs.name
            text = name_2.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # topics.configs.value
            if value is None:
                put(b"\x00")
            else:
                text = value.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics.configs
            put(b"\x00")
        # topics
        put(b"\x00")
    # timeout_ms to the end
    put(pack_iB0x(timeout_ms, validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v1,
    4: encode_v1,
    5: encode_v5,
    6: encode_v5,
    7: encode_v5,
}
PLACES: Final = """\
25 61 67 103 109 172 the message
30 72 114 168 topics
33 75 118 topics.name
37 79 126 130 topics.num_partitions to topics.assignments
39 81 123 128 132 147 topics.assignments
41 83 138 142 topics.assignments.partition_index to topics.assignments.broker_ids
43 85 135 140 144 topics.assignments.broker_ids
45 87 149 166 topics.configs
48 90 153 topics.configs.name
52 94 158 topics.configs.value
59 101 170 timeout_ms to the end
"""
