"""Encoders of ConsumerGroupHeartbeatResponse, v0.

Made by `make codec` from protocol/schema/68_consumer_group_heartbeat.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_ih = Struct(">ih").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\x00")
    else:
        text = error_message.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # member_id
    if member_id is None:
        put(b"\x00")
    else:
        text = member_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # member_epoch to assignment
    put(pack_ii(member_epoch, heartbeat_interval_ms))
    # assignment
    if assignment is None:
        put(b"\xff")
    else:
        (topic_partitions,) = assignment
        # assignment.topic_partitions
        n = len(topic_partitions) + 1
        if n < 128:
            # assignment to assignment.topic_partitions
            put(pack_bB(1, n))
        # assignment.topic_partitions
        else:
            # assignment to assignment.topic_partitions
            put(pack_b(1))
            # assignment.topic_partitions
            put(encode_uvarint(n))
        for topic_id, partitions in topic_partitions:
            # assignment.topic_partitions.partitions
            n = len(partitions) + 1
            if n < 128:
                # assignment.topic_partitions.topic_id to assignment.topic_partitions.partitions
                put(pack_16sB(topic_id, n))
            # assignment.topic_partitions.partitions
            else:
                # assignment.topic_partitions.topic_id to assignment.topic_partitions.partitions
                put(pack_16s(topic_id))
                # assignment.topic_partitions.partitions
                put(encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
            # assignment.topic_partitions
            put(b"\x00")
        # assignment
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
22 80 the message
27 throttle_time_ms to error_message
29 error_message
37 member_id
45 member_epoch to assignment
47 78 assignment
52 57 61 76 assignment.topic_partitions
55 59 assignment to assignment.topic_partitions
64 69 73 assignment.topic_partitions.partitions
67 71 assignment.topic_partitions.topic_id to assignment.topic_partitions.partitions
"""
