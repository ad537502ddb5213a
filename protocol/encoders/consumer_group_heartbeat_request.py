"""Encoders of ConsumerGroupHeartbeatRequest, v0.

Made by `make codec` from protocol/schema/68_consumer_group_heartbeat.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        group_id,
        member_id,
        member_epoch,
        instance_id,
        rack_id,
        rebalance_timeout_ms,
        subscribed_topic_names,
        server_assignor,
        topic_partitions,
    ) = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_epoch to instance_id
    put(pack_i(member_epoch))
    # instance_id
    if instance_id is None:
        put(b"\x00")
    else:
        text = instance_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # rack_id
    if rack_id is None:
        put(b"\x00")
    else:
        text = rack_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # rebalance_timeout_ms to subscribed_topic_names
    put(pack_i(rebalance_timeout_ms))
    # subscribed_topic_names
    if subscribed_topic_names is None:
        put(b"\x00")
    else:
        n = len(subscribed_topic_names) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for one in subscribed_topic_names:
            text = one.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
    # server_assignor
    if server_assignor is None:
        put(b"\x00")
    else:
        text = server_assignor.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topic_partitions
    if topic_partitions is None:
        put(b"\x00")
    else:
        n = len(topic_partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for topic_id, partitions in topic_partitions:
            # topic_partitions.partitions
            n = len(partitions) + 1
            if n < 128:
                # topic_partitions.topic_id to topic_partitions.partitions
                put(pack_16sB(topic_id, n))
            # topic_partitions.partitions
            else:
                # topic_partitions.topic_id to topic_partitions.partitions
                put(pack_16s(topic_id))
                # topic_partitions.partitions
                put(encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
            # topic_partitions
            put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 104 the message
34 group_id
39 member_id
44 member_epoch to instance_id
46 instance_id
54 rack_id
62 rebalance_timeout_ms to subscribed_topic_names
64 subscribed_topic_names
75 server_assignor
83 102 topic_partitions
90 95 99 topic_partitions.partitions
93 97 topic_partitions.topic_id to topic_partitions.partitions
"""
