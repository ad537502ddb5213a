"""Encoders of AlterPartitionResponse, v0 to v3.

Made by `make codec` from protocol/schema/56_alter_partition.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_bix = Struct(">bix").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihii = Struct(">ihii").pack
pack_ihiiB = Struct(">ihiiB").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_ihB(throttle_time_ms, error_code, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_ih(throttle_time_ms, error_code))
        # topics
        put(encode_uvarint(n))
    for topic_name, _, partitions in topics:
        # topics.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, error_code_2, leader_id, leader_epoch, isr, _, partition_epoch in partitions:
            # topics.partitions.isr
            n = len(isr) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.isr
                put(pack_ihiiB(partition_index, error_code_2, leader_id, leader_epoch, n))
            # topics.partitions.isr
            else:
                # topics.partitions.partition_index to topics.partitions.isr
                put(pack_ihii(partition_index, error_code_2, leader_id, leader_epoch))
                # topics.partitions.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topics.partitions.partition_epoch to topics.partitions
            put(pack_ix(partition_epoch))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_ihB(throttle_time_ms, error_code, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_ih(throttle_time_ms, error_code))
        # topics
        put(encode_uvarint(n))
    for topic_name, _, partitions in topics:
        # topics.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            partition_index,
            error_code_2,
            leader_id,
            leader_epoch,
            isr,
            leader_recovery_state,
            partition_epoch,
        ) in partitions:
            # topics.partitions.isr
            n = len(isr) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.isr
                put(pack_ihiiB(partition_index, error_code_2, leader_id, leader_epoch, n))
            # topics.partitions.isr
            else:
                # topics.partitions.partition_index to topics.partitions.isr
                put(pack_ihii(partition_index, error_code_2, leader_id, leader_epoch))
                # topics.partitions.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topics.partitions.leader_recovery_state to topics.partitions
            put(pack_bix(leader_recovery_state, partition_epoch))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_ihB(throttle_time_ms, error_code, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_ih(throttle_time_ms, error_code))
        # topics
        put(encode_uvarint(n))
    for _, topic_id, partitions in topics:
        # topics.partitions
        n = len(partitions) + 1
        if n < 128:
            # topics.topic_id to topics.partitions
            put(pack_16sB(topic_id, n))
        # topics.partitions
        else:
            # topics.topic_id to topics.partitions
            put(pack_16s(topic_id))
            # topics.partitions
            put(encode_uvarint(n))
        for (
            partition_index,
            error_code_2,
            leader_id,
            leader_epoch,
            isr,
            leader_recovery_state,
            partition_epoch,
        ) in partitions:
            # topics.partitions.isr
            n = len(isr) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.isr
                put(pack_ihiiB(partition_index, error_code_2, leader_id, leader_epoch, n))
            # topics.partitions.isr
            else:
                # topics.partitions.partition_index to topics.partitions.isr
                put(pack_ihii(partition_index, error_code_2, leader_id, leader_epoch))
                # topics.partitions.isr
                put(encode_uvarint(n))
            put(pack(f">{len(isr)}i", *isr))
            # topics.partitions.leader_recovery_state to topics.partitions
            put(pack_bix(leader_recovery_state, partition_epoch))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
24 66 73 123 130 183 the message
29 34 38 64 78 83 87 121 135 140 144 181 topics
32 36 81 85 138 142 throttle_time_ms to topics
41 90 topics.topic_name
46 95 147 152 156 topics.partitions
50 55 59 107 112 116 167 172 176 topics.partitions.isr
53 57 110 114 170 174 topics.partitions.partition_index to topics.partitions.isr
62 topics.partitions.partition_epoch to topics.partitions
119 179 topics.partitions.leader_recovery_state to topics.partitions
150 154 topics.topic_id to topics.partitions
"""
