"""Encoders of AlterPartitionReassignmentsRequest, v0.

Made by `make codec` from protocol/schema/45_alter_partition_reassignments.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    timeout_ms, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # timeout_ms to topics
        put(pack_iB(timeout_ms, n))
    # topics
    else:
        # timeout_ms to topics
        put(pack_i(timeout_ms))
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
        for partition_index, replicas in partitions:
            # topics.partitions.partition_index to topics.partitions.replicas
            put(pack_i(partition_index))
            # topics.partitions.replicas
            if replicas is None:
                put(b"\x00")
            else:
                n = len(replicas) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(pack(f">{len(replicas)}i", *replicas))
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
18 57 the message
23 28 32 55 topics
26 30 timeout_ms to topics
35 topics.name
40 53 topics.partitions
44 topics.partitions.partition_index to topics.partitions.replicas
46 topics.partitions.replicas
"""
