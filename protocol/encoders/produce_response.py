"""Encoders of ProduceResponse, v0 to v11.

Made by `make codec` from protocol/schema/00_produce.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.messages.produce_response import PartitionProduceResponse
from headrace.protocol.varint import UVARINTS, encode_uvarint

CURRENT_LEADER = PartitionProduceResponse._field_defaults["current_leader"]
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ihq = Struct(">ihq").pack
pack_ihqq = Struct(">ihqq").pack
pack_ihqqq = Struct(">ihqqq").pack
pack_ihqqqB = Struct(">ihqqqB").pack
pack_ihqqqi = Struct(">ihqqqi").pack
pack_iix = Struct(">iix").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, _, _ = msg
    # responses
    put(pack_i(len(responses)))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partition_responses
        put(pack_i(len(partition_responses)))
        for index, error_code, base_offset, _, _, _, _, _ in partition_responses:
            # responses.partition_responses.index to responses.partition_responses
            put(pack_ihq(index, error_code, base_offset))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, throttle_time_ms, _ = msg
    # responses
    put(pack_i(len(responses)))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partition_responses
        put(pack_i(len(partition_responses)))
        for index, error_code, base_offset, _, _, _, _, _ in partition_responses:
            # responses.partition_responses.index to responses.partition_responses
            put(pack_ihq(index, error_code, base_offset))
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, throttle_time_ms, _ = msg
    # responses
    put(pack_i(len(responses)))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partition_responses
        put(pack_i(len(partition_responses)))
        for index, error_code, base_offset, log_append_time_ms, _, _, _, _ in partition_responses:
            # responses.partition_responses.index to responses.partition_responses
            put(pack_ihqq(index, error_code, base_offset, log_append_time_ms))
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, throttle_time_ms, _ = msg
    # responses
    put(pack_i(len(responses)))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partition_responses
        put(pack_i(len(partition_responses)))
        for index, error_code, base_offset, log_append_time_ms, log_start_offset, _, _, _ in partition_responses:
            # responses.partition_responses.index to responses.partition_responses
            put(pack_ihqqq(index, error_code, base_offset, log_append_time_ms, log_start_offset))
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, throttle_time_ms, _ = msg
    # responses
    put(pack_i(len(responses)))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partition_responses
        put(pack_i(len(partition_responses)))
        for (
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            _,
        ) in partition_responses:
            # responses.partition_responses.index to responses.partition_responses.record_errors
            put(pack_ihqqqi(index, error_code, base_offset, log_append_time_ms, log_start_offset, len(record_errors)))
            # responses.partition_responses.record_errors
            for batch_index, batch_index_error_message in record_errors:
                # responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
                put(pack_i(batch_index))
                # responses.partition_responses.record_errors.batch_index_error_message
                if batch_index_error_message is None:
                    put(b"\xff\xff")
                else:
                    text = batch_index_error_message.encode()
                    put(pack_h(len(text)))
                    put(text)
            # responses.partition_responses.error_message
            if error_message is None:
                put(b"\xff\xff")
            else:
                text = error_message.encode()
                put(pack_h(len(text)))
                put(text)
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, throttle_time_ms, _ = msg
    # responses
    n = len(responses) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # responses.partition_responses
        n = len(partition_responses) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            _,
        ) in partition_responses:
            # responses.partition_responses.record_errors
            n = len(record_errors) + 1
            if n < 128:
                # responses.partition_responses.index to responses.partition_responses.record_errors
                put(pack_ihqqqB(index, error_code, base_offset, log_append_time_ms, log_start_offset, n))
            # responses.partition_responses.record_errors
            else:
                # responses.partition_responses.index to responses.partition_responses.record_errors
                put(pack_ihqqq(index, error_code, base_offset, log_append_time_ms, log_start_offset))
                # responses.partition_responses.record_errors
                put(encode_uvarint(n))
            for batch_index, batch_index_error_message in record_errors:
                # responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
                put(pack_i(batch_index))
                # responses.partition_responses.record_errors.batch_index_error_message
                if batch_index_error_message is None:
                    put(b"\x00")
                else:
                    text = batch_index_error_message.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # responses.partition_responses.record_errors
                put(b"\x00")
            # responses.partition_responses.error_message
            if error_message is None:
                put(b"\x00")
            else:
                text = error_message.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # responses.partition_responses
            put(b"\x00")
        # responses
        put(b"\x00")
    # throttle_time_ms to the end
    put(pack_ix(throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v10(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    responses, throttle_time_ms, node_endpoints = msg
    # responses
    n = len(responses) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, partition_responses in responses:
        # responses.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # responses.partition_responses
        n = len(partition_responses) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            current_leader,
        ) in partition_responses:
            # responses.partition_responses.record_errors
            n = len(record_errors) + 1
            if n < 128:
                # responses.partition_responses.index to responses.partition_responses.record_errors
                put(pack_ihqqqB(index, error_code, base_offset, log_append_time_ms, log_start_offset, n))
            # responses.partition_responses.record_errors
            else:
                # responses.partition_responses.index to responses.partition_responses.record_errors
                put(pack_ihqqq(index, error_code, base_offset, log_append_time_ms, log_start_offset))
                # responses.partition_responses.record_errors
                put(encode_uvarint(n))
            for batch_index, batch_index_error_message in record_errors:
                # responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
                put(pack_i(batch_index))
                # responses.partition_responses.record_errors.batch_index_error_message
                if batch_index_error_message is None:
                    put(b"\x00")
                else:
                    text = batch_index_error_message.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # responses.partition_responses.record_errors
                put(b"\x00")
            # responses.partition_responses.error_message
            if error_message is None:
                put(b"\x00")
            else:
                text = error_message.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # responses.partition_responses
            if current_leader is CURRENT_LEADER:
                put(b"\0")
            else:
                tags = []
                outer = out
                # responses.partition_responses.current_leader
                if current_leader != CURRENT_LEADER:
                    out = []
                    put = out.append
                    leader_id, leader_epoch = current_leader
                    # responses.partition_responses.current_leader.leader_id to responses.partition_responses.current_leader
                    put(pack_iix(leader_id, leader_epoch))
                    # responses.partition_responses.current_leader
                    tags.append((0, join(out)))
                # responses.partition_responses
                out = outer
                put = out.append
                n = len(tags)
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                for tag, text in tags:
                    put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
                    n = len(text)
                    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                    put(text)
        # responses
        put(b"\x00")
    # throttle_time_ms to the end
    put(pack_i(throttle_time_ms))
    # the message
    if node_endpoints == ():
        put(b"\0")
    else:
        tags_2 = []
        outer_2 = out
        # node_endpoints
        if node_endpoints is None or len(node_endpoints):
            out = []
            put = out.append
            n = len(node_endpoints) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for node_id, host, port, rack in node_endpoints:
                # node_endpoints.host
                text = host.encode()
                n = len(text) + 1
                if n < 128:
                    # node_endpoints.node_id to node_endpoints.host
                    put(pack_iB(node_id, n))
                # node_endpoints.host
                else:
                    # node_endpoints.node_id to node_endpoints.host
                    put(pack_i(node_id))
                    # node_endpoints.host
                    put(encode_string_length(n))
                put(text)
                # node_endpoints.port to node_endpoints.rack
                put(pack_i(port))
                # node_endpoints.rack
                if rack is None:
                    put(b"\x00")
                else:
                    text = rack.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                # node_endpoints
                put(b"\x00")
            tags_2.append((0, join(out)))
        # the message
        out = outer_2
        put = out.append
        n = len(tags_2)
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for tag_2, text in tags_2:
            put(UVARINTS[tag_2] if tag_2 < 128 else encode_uvarint(tag_2))
            n = len(text)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(text)
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
    5: encode_v5,
    6: encode_v5,
    7: encode_v5,
    8: encode_v8,
    9: encode_v9,
    10: encode_v10,
    11: encode_v10,
}
PLACES: Final = """\
28 45 51 70 76 95 101 120 126 172 178 243 249 337 376 the message
33 56 81 106 131 183 239 254 333 responses
36 59 84 109 134 187 258 responses.name
40 63 88 113 138 192 237 263 308 323 responses.partition_responses
43 66 91 116 responses.partition_responses.index to responses.partition_responses
68 93 118 170 241 335 throttle_time_ms to the end
150 208 212 279 283 responses.partition_responses.index to responses.partition_responses.record_errors
152 205 210 214 227 276 281 285 298 responses.partition_responses.record_errors
154 217 288 responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
156 219 290 responses.partition_responses.record_errors.batch_index_error_message
163 229 300 responses.partition_responses.error_message
314 321 responses.partition_responses.current_leader
319 responses.partition_responses.current_leader.leader_id to responses.partition_responses.current_leader
343 373 node_endpoints
350 356 360 node_endpoints.host
354 358 node_endpoints.node_id to node_endpoints.host
363 node_endpoints.port to node_endpoints.rack
365 node_endpoints.rack
"""
