"""Encoders of ConsumerGroupPartitionMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (topics,) = msg
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for topic_id, topic_name, num_partitions, partition_metadata in topics:
        # topics.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        if n < 128:
            # topics.topic_id to topics.topic_name
            put(pack_16sB(topic_id, n))
        # topics.topic_name
        else:
            # topics.topic_id to topics.topic_name
            put(pack_16s(topic_id))
            # topics.topic_name
            put(encode_string_length(n))
        put(text)
        # topics.partition_metadata
        n = len(partition_metadata) + 1
        if n < 128:
            # topics.num_partitions to topics.partition_metadata
            put(pack_iB(num_partitions, n))
        # topics.partition_metadata
        else:
            # topics.num_partitions to topics.partition_metadata
            put(pack_i(num_partitions))
            # topics.partition_metadata
            put(encode_uvarint(n))
        for partition, racks in partition_metadata:
            # topics.partition_metadata.racks
            n = len(racks) + 1
            if n < 128:
                # topics.partition_metadata.partition to topics.partition_metadata.racks
                put(pack_iB(partition, n))
            # topics.partition_metadata.racks
            else:
                # topics.partition_metadata.partition to topics.partition_metadata.racks
                put(pack_i(partition))
                # topics.partition_metadata.racks
                put(encode_uvarint(n))
            for one in racks:
                text = one.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics.partition_metadata
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
20 74 the message
25 72 topics
29 35 39 topics.topic_name
33 37 topics.topic_id to topics.topic_name
42 47 51 70 topics.partition_metadata
45 49 topics.num_partitions to topics.partition_metadata
54 59 63 topics.partition_metadata.racks
57 61 topics.partition_metadata.partition to topics.partition_metadata.racks
"""
