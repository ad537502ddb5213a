"""Encoders of AlterPartitionReassignmentsResponse, v0.

Made by `make codec` from protocol/schema/45_alter_partition_reassignments.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, responses = msg
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
    # responses
    n = len(responses) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, partitions in responses:
        # responses.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # responses.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, error_code_2, error_message_2 in partitions:
            # responses.partitions.partition_index to responses.partitions.error_message
            put(pack_ih(partition_index, error_code_2))
            # responses.partitions.error_message
            if error_message_2 is None:
                put(b"\x00")
            else:
                text = error_message_2.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # responses.partitions
            put(b"\x00")
        # responses
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
17 59 the message
22 throttle_time_ms to error_message
24 error_message
32 57 responses
36 responses.name
41 55 responses.partitions
45 responses.partitions.partition_index to responses.partitions.error_message
47 responses.partitions.error_message
"""
