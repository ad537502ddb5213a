"""Encoders of DescribeClusterResponse, v0 to v1.

Made by `make codec` from protocol/schema/60_describe_cluster.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_bB = Struct(">bB").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        throttle_time_ms,
        error_code,
        error_message,
        _,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
    ) = msg
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
    # cluster_id
    text = cluster_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # brokers
    n = len(brokers) + 1
    if n < 128:
        # controller_id to brokers
        put(pack_iB(controller_id, n))
    # brokers
    else:
        # controller_id to brokers
        put(pack_i(controller_id))
        # brokers
        put(encode_uvarint(n))
    for broker_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # brokers.broker_id to brokers.host
            put(pack_iB(broker_id, n))
        # brokers.host
        else:
            # brokers.broker_id to brokers.host
            put(pack_i(broker_id))
            # brokers.host
            put(encode_string_length(n))
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # brokers
        put(b"\x00")
    # cluster_authorized_operations to the end
    put(pack_ix(cluster_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        throttle_time_ms,
        error_code,
        error_message,
        endpoint_type,
        cluster_id,
        controller_id,
        brokers,
        cluster_authorized_operations,
    ) = msg
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
    # cluster_id
    text = cluster_id.encode()
    n = len(text) + 1
    if n < 128:
        # endpoint_type to cluster_id
        put(pack_bB(endpoint_type, n))
    # cluster_id
    else:
        # endpoint_type to cluster_id
        put(pack_b(endpoint_type))
        # cluster_id
        put(encode_string_length(n))
    put(text)
    # brokers
    n = len(brokers) + 1
    if n < 128:
        # controller_id to brokers
        put(pack_iB(controller_id, n))
    # brokers
    else:
        # controller_id to brokers
        put(pack_i(controller_id))
        # brokers
        put(encode_uvarint(n))
    for broker_id, host, port, rack in brokers:
        # brokers.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # brokers.broker_id to brokers.host
            put(pack_iB(broker_id, n))
        # brokers.host
        else:
            # brokers.broker_id to brokers.host
            put(pack_i(broker_id))
            # brokers.host
            put(encode_string_length(n))
        put(text)
        # brokers.port to brokers.rack
        put(pack_i(port))
        # brokers.rack
        if rack is None:
            put(b"\x00")
        else:
            text = rack.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # brokers
        put(b"\x00")
    # cluster_authorized_operations to the end
    put(pack_ix(cluster_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
22 90 96 172 the message
36 110 throttle_time_ms to error_message
38 112 error_message
46 120 126 130 cluster_id
51 56 60 86 133 138 142 168 brokers
54 58 136 140 controller_id to brokers
63 69 73 145 151 155 brokers.host
67 71 149 153 brokers.broker_id to brokers.host
76 158 brokers.port to brokers.rack
78 160 brokers.rack
88 170 cluster_authorized_operations to the end
124 128 endpoint_type to cluster_id
"""
