"""Encoders of ListPartitionReassignmentsResponse, v0.

Made by `make codec` from protocol/schema/46_list_partition_reassignments.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, topics = msg
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
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, replicas, adding_replicas, removing_replicas in partitions:
            # topics.partitions.replicas
            n = len(replicas) + 1
            if n < 128:
                # topics.partitions.partition_index to topics.partitions.replicas
                put(pack_iB(partition_index, n))
            # topics.partitions.replicas
            else:
                # topics.partitions.partition_index to topics.partitions.replicas
                put(pack_i(partition_index))
                # topics.partitions.replicas
                put(encode_uvarint(n))
            put(pack(f">{len(replicas)}i", *replicas))
            # topics.partitions.adding_replicas
            n = len(adding_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(adding_replicas)}i", *adding_replicas))
            # topics.partitions.removing_replicas
            n = len(removing_replicas) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(removing_replicas)}i", *removing_replicas))
            # topics.partitions
            put(b"\x00")
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 71 the message
24 throttle_time_ms to error_message
26 error_message
34 69 topics
38 topics.name
43 67 topics.partitions
47 52 56 topics.partitions.replicas
50 54 topics.partitions.partition_index to topics.partitions.replicas
59 topics.partitions.adding_replicas
63 topics.partitions.removing_replicas
"""
