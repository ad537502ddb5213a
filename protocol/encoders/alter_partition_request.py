"""Encoders of AlterPartitionRequest, v0 to v3.

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
pack_ii = Struct(">ii").pack
pack_iiB = Struct(">iiB").pack
pack_iq = Struct(">iq").pack
pack_iqB = Struct(">iqB").pack
pack_iqx = Struct(">iqx").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    broker_id, broker_epoch, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # broker_id to topics
        put(pack_iqB(broker_id, broker_epoch, n))
    # topics
    else:
        # broker_id to topics
        put(pack_iq(broker_id, broker_epoch))
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
        for partition_index, leader_epoch, new_isr, _, _, partition_epoch in partitions:
            # topics.partitions.new_isr
            n = len(new_isr) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.new_isr
                put(pack_iiB(partition_index, leader_epoch, n))
            # topics.partitions.new_isr
            else:
                # topics.partitions.partition_index to topics.partitions.new_isr
                put(pack_ii(partition_index, leader_epoch))
                # topics.partitions.new_isr
                put(encode_uvarint(n))
            put(pack(f">{len(new_isr)}i", *new_isr))
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
    broker_id, broker_epoch, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # broker_id to topics
        put(pack_iqB(broker_id, broker_epoch, n))
    # topics
    else:
        # broker_id to topics
        put(pack_iq(broker_id, broker_epoch))
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
        for partition_index, leader_epoch, new_isr, _, leader_recovery_state, partition_epoch in partitions:
            # topics.partitions.new_isr
            n = len(new_isr) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.new_isr
                put(pack_iiB(partition_index, leader_epoch, n))
            # topics.partitions.new_isr
            else:
                # topics.partitions.partition_index to topics.partitions.new_isr
                put(pack_ii(partition_index, leader_epoch))
                # topics.partitions.new_isr
                put(encode_uvarint(n))
            put(pack(f">{len(new_isr)}i", *new_isr))
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
    broker_id, broker_epoch, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # broker_id to topics
        put(pack_iqB(broker_id, broker_epoch, n))
    # topics
    else:
        # broker_id to topics
        put(pack_iq(broker_id, broker_epoch))
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
        for partition_index, leader_epoch, new_isr, _, leader_recovery_state, partition_epoch in partitions:
            # topics.partitions.new_isr
            n = len(new_isr) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.new_isr
                put(pack_iiB(partition_index, leader_epoch, n))
            # topics.partitions.new_isr
            else:
                # topics.partitions.partition_index to topics.partitions.new_isr
                put(pack_ii(partition_index, leader_epoch))
                # topics.partitions.new_isr
                put(encode_uvarint(n))
            put(pack(f">{len(new_isr)}i", *new_isr))
            # topics.partitions.leader_recovery_state to topics.partitions
            put(pack_bix(leader_recovery_state, partition_epoch))
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
    broker_id, broker_epoch, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # broker_id to topics
        put(pack_iqB(broker_id, broker_epoch, n))
    # topics
    else:
        # broker_id to topics
        put(pack_iq(broker_id, broker_epoch))
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
        for partition_index, leader_epoch, _, new_isr_with_epochs, leader_recovery_state, partition_epoch in partitions:
            # topics.partitions.new_isr_with_epochs
            n = len(new_isr_with_epochs) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.new_isr_with_epochs
                put(pack_iiB(partition_index, leader_epoch, n))
            # topics.partitions.new_isr_with_epochs
            else:
                # topics.partitions.partition_index to topics.partitions.new_isr_with_epochs
                put(pack_ii(partition_index, leader_epoch))
                # topics.partitions.new_isr_with_epochs
                put(encode_uvarint(n))
            for broker_id_2, broker_epoch_2 in new_isr_with_epochs:
                # topics.partitions.new_isr_with_epochs.broker_id to topics.partitions.new_isr_with_epochs
                put(pack_iqx(broker_id_2, broker_epoch_2))
            # topics.partitions.leader_recovery_state to topics.partitions
            put(pack_bix(leader_recovery_state, partition_epoch))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v3}
PLACES: Final = """\
25 67 74 116 123 168 175 222 the message
30 35 39 65 79 84 88 114 128 133 137 166 180 185 189 220 topics
33 37 82 86 131 135 183 187 broker_id to topics
42 91 topics.topic_name
47 96 140 145 149 192 197 201 topics.partitions
51 56 60 100 105 109 152 157 161 topics.partitions.new_isr
54 58 103 107 155 159 topics.partitions.partition_index to topics.partitions.new_isr
63 topics.partitions.partition_epoch to topics.partitions
112 164 218 topics.partitions.leader_recovery_state to topics.partitions
143 147 195 199 topics.topic_id to topics.partitions
204 209 213 topics.partitions.new_isr_with_epochs
207 211 topics.partitions.partition_index to topics.partitions.new_isr_with_epochs
216 topics.partitions.new_isr_with_epochs.broker_id to topics.partitions.new_isr_with_epochs
"""
