"""Encoders of ConsumerGroupTargetAssignmentMemberValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (topic_partitions,) = msg
    # topic_partitions
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
17 40 the message
22 38 topic_partitions
26 31 35 topic_partitions.partitions
29 33 topic_partitions.topic_id to topic_partitions.partitions
"""
