"""Encoders of StopReplicaRequest, v0 to v4.

Made by `make codec` from protocol/schema/05_stop_replica.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB0iq = Struct(">i?iq").pack
pack_iB0iqB = Struct(">i?iqB").pack
pack_iiB0i = Struct(">ii?i").pack
pack_iiB0x = Struct(">ii?x").pack
pack_iiq = Struct(">iiq").pack
pack_iiqB = Struct(">iiqB").pack
pack_iiqB0 = Struct(">iiq?").pack
pack_iiqB0B = Struct(">iiq?B").pack
pack_iiqB0i = Struct(">iiq?i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, _, delete_partitions, ungrouped_partitions, _, _ = msg
    # controller_id to ungrouped_partitions
    put(pack_iiB0i(controller_id, controller_epoch, delete_partitions, len(ungrouped_partitions)))
    # ungrouped_partitions
    for topic_name, partition_index in ungrouped_partitions:
        # ungrouped_partitions.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # ungrouped_partitions.partition_index to ungrouped_partitions
        put(pack_i(partition_index))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, delete_partitions, _, topics, _ = msg
    # controller_id to topics
    put(pack_iiqB0i(controller_id, controller_epoch, broker_epoch, delete_partitions, len(topics)))
    # topics
    for name, partition_indexes in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partition_indexes
        put(pack_i(len(partition_indexes)))
        put(pack(f">{len(partition_indexes)}i", *partition_indexes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, delete_partitions, _, topics, _ = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # controller_id to topics
        put(pack_iiqB0B(controller_id, controller_epoch, broker_epoch, delete_partitions, n))
    # topics
    else:
        # controller_id to topics
        put(pack_iiqB0(controller_id, controller_epoch, broker_epoch, delete_partitions))
        # topics
        put(encode_uvarint(n))
    for name, partition_indexes in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partition_indexes
        n = len(partition_indexes) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(pack(f">{len(partition_indexes)}i", *partition_indexes))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, _, controller_epoch, broker_epoch, _, _, _, topic_states = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iiqB(controller_id, controller_epoch, broker_epoch, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iiq(controller_id, controller_epoch, broker_epoch))
        # topic_states
        put(encode_uvarint(n))
    for topic_name, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_states.partition_states
        n = len(partition_states) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, leader_epoch, delete_partition in partition_states:
            # topic_states.partition_states.partition_index to topic_states.partition_states
            put(pack_iiB0x(partition_index, leader_epoch, delete_partition))
        # topic_states
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, _, _, _, topic_states = msg
    # topic_states
    n = len(topic_states) + 1
    if n < 128:
        # controller_id to topic_states
        put(pack_iB0iqB(controller_id, is_kraft_controller, controller_epoch, broker_epoch, n))
    # topic_states
    else:
        # controller_id to topic_states
        put(pack_iB0iq(controller_id, is_kraft_controller, controller_epoch, broker_epoch))
        # topic_states
        put(encode_uvarint(n))
    for topic_name, partition_states in topic_states:
        # topic_states.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topic_states.partition_states
        n = len(partition_states) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, leader_epoch, delete_partition in partition_states:
            # topic_states.partition_states.partition_index to topic_states.partition_states
            put(pack_iiB0x(partition_index, leader_epoch, delete_partition))
        # topic_states
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v2,
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
27 42 48 64 70 98 105 135 142 172 the message
32 controller_id to ungrouped_partitions
34 ungrouped_partitions
36 ungrouped_partitions.topic_name
40 ungrouped_partitions.partition_index to ungrouped_partitions
53 78 82 controller_id to topics
55 75 80 84 96 topics
57 87 topics.name
61 92 topics.partition_indexes
110 115 119 133 147 152 156 170 topic_states
113 117 150 154 controller_id to topic_states
122 159 topic_states.topic_name
127 164 topic_states.partition_states
131 168 topic_states.partition_states.partition_index to topic_states.partition_states
"""
