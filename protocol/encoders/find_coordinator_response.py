"""Encoders of FindCoordinatorResponse, v0 to v6.

Made by `make codec` from protocol/schema/10_find_coordinator.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hih = Struct(">hih").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, error_code, _, node_id, host, port, _ = msg
    # host
    text = host.encode()
    # error_code to host
    put(pack_hih(error_code, node_id, len(text)))
    # host
    put(text)
    # port to the end
    put(pack_i(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, node_id, host, port, _ = msg
    # throttle_time_ms to error_message
    put(pack_ih(throttle_time_ms, error_code))
    # error_message
    if error_message is None:
        put(b"\xff\xff")
    else:
        text = error_message.encode()
        put(pack_h(len(text)))
        put(text)
    # host
    text = host.encode()
    # node_id to host
    put(pack_ih(node_id, len(text)))
    # host
    put(text)
    # port to the end
    put(pack_i(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, error_message, node_id, host, port, _ = msg
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
    # host
    text = host.encode()
    n = len(text) + 1
    if n < 128:
        # node_id to host
        put(pack_iB(node_id, n))
    # host
    else:
        # node_id to host
        put(pack_i(node_id))
        # host
        put(encode_string_length(n))
    put(text)
    # port to the end
    put(pack_ix(port))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, _, _, _, coordinators = msg
    # coordinators
    n = len(coordinators) + 1
    if n < 128:
        # throttle_time_ms to coordinators
        put(pack_iB(throttle_time_ms, n))
    # coordinators
    else:
        # throttle_time_ms to coordinators
        put(pack_i(throttle_time_ms))
        # coordinators
        put(encode_uvarint(n))
    for key, node_id, host, port, error_code, error_message in coordinators:
        # coordinators.key
        text = key.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # coordinators.host
        text = host.encode()
        n = len(text) + 1
        if n < 128:
            # coordinators.node_id to coordinators.host
            put(pack_iB(node_id, n))
        # coordinators.host
        else:
            # coordinators.node_id to coordinators.host
            put(pack_i(node_id))
            # coordinators.host
            put(encode_string_length(n))
        put(text)
        # coordinators.port to coordinators.error_message
        put(pack_ih(port, error_code))
        # coordinators.error_message
        if error_message is None:
            put(b"\x00")
        else:
            text = error_message.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # coordinators
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v3,
    4: encode_v4,
    5: encode_v4,
    6: encode_v4,
}
PLACES: Final = """\
22 35 41 63 69 99 105 152 the message
27 31 55 59 84 90 94 host
29 error_code to host
33 61 97 port to the end
46 74 throttle_time_ms to error_message
48 76 error_message
57 88 92 node_id to host
110 115 119 150 coordinators
113 117 throttle_time_ms to coordinators
122 coordinators.key
127 133 137 coordinators.host
131 135 coordinators.node_id to coordinators.host
140 coordinators.port to coordinators.error_message
142 coordinators.error_message
"""
