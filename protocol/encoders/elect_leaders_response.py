"""Encoders of ElectLeadersResponse, v0 to v2.

Made by `make codec` from protocol/schema/43_elect_leaders.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihi = Struct(">ihi").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, replica_election_results = msg
    # throttle_time_ms to replica_election_results
    put(pack_ii(throttle_time_ms, len(replica_election_results)))
    # replica_election_results
    for topic, partition_result in replica_election_results:
        # replica_election_results.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # replica_election_results.partition_result
        put(pack_i(len(partition_result)))
        for partition_id, error_code, error_message in partition_result:
            # replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
            put(pack_ih(partition_id, error_code))
            # replica_election_results.partition_result.error_message
            if error_message is None:
                put(b"\xff\xff")
            else:
                text = error_message.encode()
                put(pack_h(len(text)))
                put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, replica_election_results = msg
    # throttle_time_ms to replica_election_results
    put(pack_ihi(throttle_time_ms, error_code, len(replica_election_results)))
    # replica_election_results
    for topic, partition_result in replica_election_results:
        # replica_election_results.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # replica_election_results.partition_result
        put(pack_i(len(partition_result)))
        for partition_id, error_code_2, error_message in partition_result:
            # replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
            put(pack_ih(partition_id, error_code_2))
            # replica_election_results.partition_result.error_message
            if error_message is None:
                put(b"\xff\xff")
            else:
                text = error_message.encode()
                put(pack_h(len(text)))
                put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, replica_election_results = msg
    # replica_election_results
    n = len(replica_election_results) + 1
    if n < 128:
        # throttle_time_ms to replica_election_results
        put(pack_ihB(throttle_time_ms, error_code, n))
    # replica_election_results
    else:
        # throttle_time_ms to replica_election_results
        put(pack_ih(throttle_time_ms, error_code))
        # replica_election_results
        put(encode_uvarint(n))
    for topic, partition_result in replica_election_results:
        # replica_election_results.topic
        text = topic.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # replica_election_results.partition_result
        n = len(partition_result) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_id, error_code_2, error_message in partition_result:
            # replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
            put(pack_ih(partition_id, error_code_2))
            # replica_election_results.partition_result.error_message
            if error_message is None:
                put(b"\x00")
            else:
                text = error_message.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # replica_election_results.partition_result
            put(b"\x00")
        # replica_election_results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2}
PLACES: Final = """\
22 47 53 78 84 124 the message
27 58 92 96 throttle_time_ms to replica_election_results
29 60 89 94 98 122 replica_election_results
31 62 101 replica_election_results.topic
35 66 106 120 replica_election_results.partition_result
38 69 110 replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
40 71 112 replica_election_results.partition_result.error_message
"""
