"""Decoders of ProduceResponse, v0 to v11.

Made by `make codec` from protocol/schema/00_produce.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.protocol.varint import read_uvarint

CURRENT_LEADER = PartitionProduceResponse._field_defaults["current_leader"]
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihq = Struct(">ihq").unpack_from
unpack_ihqq = Struct(">ihqq").unpack_from
unpack_ihqqq = Struct(">ihqqq").unpack_from
unpack_ihqqqB = Struct(">ihqqqB").unpack_from
unpack_ihqqqi = Struct(">ihqqqi").unpack_from
unpack_iiB = Struct(">iiB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 14 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 260
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses
            index, error_code, base_offset = unpack_ihq(buf, pos)
            # responses.partition_responses
            pos += 14
            partition_responses.append(
                new(PartitionProduceResponse, (index, error_code, base_offset, -1, -1, (), None, CURRENT_LEADER))
            )
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # the message
    return new(ProduceResponse, (responses, 0, ()))


def decode_v1(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 14 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 260
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses
            index, error_code, base_offset = unpack_ihq(buf, pos)
            # responses.partition_responses
            pos += 14
            partition_responses.append(
                new(PartitionProduceResponse, (index, error_code, base_offset, -1, -1, (), None, CURRENT_LEADER))
            )
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ProduceResponse, (responses, throttle_time_ms, ()))


def decode_v2(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 22 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 308
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses
            index, error_code, base_offset, log_append_time_ms = unpack_ihqq(buf, pos)
            # responses.partition_responses
            pos += 22
            partition_responses.append(
                new(
                    PartitionProduceResponse,
                    (index, error_code, base_offset, log_append_time_ms, -1, (), None, CURRENT_LEADER),
                )
            )
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ProduceResponse, (responses, throttle_time_ms, ()))


def decode_v5(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 30 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 356
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses
            index, error_code, base_offset, log_append_time_ms, log_start_offset = unpack_ihqqq(buf, pos)
            # responses.partition_responses
            pos += 30
            partition_responses.append(
                new(
                    PartitionProduceResponse,
                    (index, error_code, base_offset, log_append_time_ms, log_start_offset, (), None, CURRENT_LEADER),
                )
            )
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ProduceResponse, (responses, throttle_time_ms, ()))


def decode_v8(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 36 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 524
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses.record_errors
            index, error_code, base_offset, log_append_time_ms, log_start_offset, n = unpack_ihqqqi(buf, pos)
            # responses.partition_responses.record_errors
            pos += 34
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 6 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 212
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
            record_errors = []
            for _ in range(n):
                # responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
                batch_index, n = unpack_ih(buf, pos)
                # responses.partition_responses.record_errors.batch_index_error_message
                pos += 6
                if n < -1:
                    raise Malformed(f"length {n}")
                if n < 0:
                    batch_index_error_message = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    batch_index_error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # responses.partition_responses.record_errors
                record_errors.append(new(BatchIndexAndErrorMessage, (batch_index, batch_index_error_message)))
            # responses.partition_responses.error_message
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                error_message = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # responses.partition_responses
            partition_responses.append(
                new(
                    PartitionProduceResponse,
                    (
                        index,
                        error_code,
                        base_offset,
                        log_append_time_ms,
                        log_start_offset,
                        record_errors,
                        error_message,
                        CURRENT_LEADER,
                    ),
                )
            )
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # throttle_time_ms to the end
    (throttle_time_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ProduceResponse, (responses, throttle_time_ms, ()))


def decode_v9(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 3 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 33 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 524
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses.record_errors
            index, error_code, base_offset, log_append_time_ms, log_start_offset, n = unpack_ihqqqB(buf, pos)
            # responses.partition_responses.record_errors
            pos += 31
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 6 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 212
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
            record_errors = []
            for _ in range(n):
                # responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
                batch_index, n = unpack_iB(buf, pos)
                # responses.partition_responses.record_errors.batch_index_error_message
                pos += 5
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    batch_index_error_message = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    batch_index_error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # responses.partition_responses.record_errors.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # responses.partition_responses.record_errors
                record_errors.append(new(BatchIndexAndErrorMessage, (batch_index, batch_index_error_message)))
            # responses.partition_responses.error_message
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                error_message = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # responses.partition_responses.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # responses.partition_responses
            partition_responses.append(
                new(
                    PartitionProduceResponse,
                    (
                        index,
                        error_code,
                        base_offset,
                        log_append_time_ms,
                        log_start_offset,
                        record_errors,
                        error_message,
                        CURRENT_LEADER,
                    ),
                )
            )
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ProduceResponse, (responses, throttle_time_ms, ()))


def decode_v10(buf: memoryview) -> ProduceResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # responses
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 3 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 33 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 668
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(n):
            # responses.partition_responses.index to responses.partition_responses.record_errors
            index, error_code, base_offset, log_append_time_ms, log_start_offset, n = unpack_ihqqqB(buf, pos)
            # responses.partition_responses.record_errors
            pos += 31
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                raise Malformed(f"length {n}, which may not be")
            if n * 6 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 212
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
            record_errors = []
            for _ in range(n):
                # responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
                batch_index, n = unpack_iB(buf, pos)
                # responses.partition_responses.record_errors.batch_index_error_message
                pos += 5
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    batch_index_error_message = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    batch_index_error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # responses.partition_responses.record_errors.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # responses.partition_responses.record_errors
                record_errors.append(new(BatchIndexAndErrorMessage, (batch_index, batch_index_error_message)))
            # responses.partition_responses.error_message
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                error_message = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # responses.partition_responses
            current_leader = CURRENT_LEADER
            # responses.partition_responses.tags
            n = buf[pos]
            pos += 1
            if n:
                n, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                for _ in range(n):
                    tag = buf[pos]
                    pos += 1
                    if tag > 127:
                        tag, pos = read_uvarint(buf, pos - 1)
                    tag_size = buf[pos]
                    pos += 1
                    if tag_size > 127:
                        tag_size, pos = read_uvarint(buf, pos - 1)
                    tag_stop = pos + tag_size
                    if tag_stop > end:
                        raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
                    if tag == 0:
                        # responses.partition_responses.tags.current_leader.leader_id to responses.partition_responses.tags.current_leader.tags
                        leader_id, leader_epoch, n = unpack_iiB(buf, pos)
                        # responses.partition_responses.tags.current_leader.tags
                        pos += 9
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partition_responses.tags.current_leader
                        current_leader = new(LeaderIdAndEpoch, (leader_id, leader_epoch))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partition_responses.tags
                    pos = tag_stop
            # responses.partition_responses
            partition_responses.append(
                new(
                    PartitionProduceResponse,
                    (
                        index,
                        error_code,
                        base_offset,
                        log_append_time_ms,
                        log_start_offset,
                        record_errors,
                        error_message,
                        current_leader,
                    ),
                )
            )
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(TopicProduceResponse, (name, partition_responses)))
    # the message
    node_endpoints: Any = ()
    # throttle_time_ms to tags
    throttle_time_ms, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        n, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        for _ in range(n):
            tag_2 = buf[pos]
            pos += 1
            if tag_2 > 127:
                tag_2, pos = read_uvarint(buf, pos - 1)
            tag_size_2 = buf[pos]
            pos += 1
            if tag_size_2 > 127:
                tag_size_2, pos = read_uvarint(buf, pos - 1)
            tag_stop_2 = pos + tag_size_2
            if tag_stop_2 > end:
                raise Malformed(f"{tag_size_2} bytes announced for tag {tag_2}, {end - pos} remain")
            if tag_2 == 0:
                # tags.node_endpoints
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                if n * 11 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 340
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                node_endpoints = []
                for _ in range(n):
                    # tags.node_endpoints.node_id to tags.node_endpoints.host
                    node_id, n = unpack_iB(buf, pos)
                    # tags.node_endpoints.host
                    pos += 5
                    if n > 127:
                        n, pos = read_uvarint(buf, pos - 1)
                        if n > STRING_BYTES_MAX + 1:
                            raise Malformed(f"length {n - 1}")
                    n -= 1
                    if n < 0:
                        raise Malformed(f"length {n}, which may not be")
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    host = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                    # tags.node_endpoints.port to tags.node_endpoints.rack
                    port, n = unpack_iB(buf, pos)
                    # tags.node_endpoints.rack
                    pos += 5
                    if n > 127:
                        n, pos = read_uvarint(buf, pos - 1)
                        if n > STRING_BYTES_MAX + 1:
                            raise Malformed(f"length {n - 1}")
                    n -= 1
                    if n < 0:
                        rack = None
                    else:
                        stop = pos + n
                        if stop > end:
                            raise Malformed(f"{n} bytes announced, {end - pos} remain")
                        rack = utf_8_decode(buf[pos:stop], "strict", True)[0]
                        pos = stop
                    # tags.node_endpoints.tags
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # tags.node_endpoints
                    node_endpoints.append(new(NodeEndpoint, (node_id, host, port, rack)))
                if pos != tag_stop_2:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop_2
    # the message
    return new(ProduceResponse, (responses, throttle_time_ms, node_endpoints))


DECODERS: Final[dict[int, Callable[[memoryview], ProduceResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
    5: decode_v5,
    6: decode_v5,
    7: decode_v5,
    8: decode_v8,
    9: decode_v9,
    10: decode_v10,
    11: decode_v10,
}
PLACES: Final = """\
37 84 88 137 142 194 199 251 256 356 361 500 504 664 744 the message
41 82 92 133 146 190 203 247 260 352 365 492 508 662 responses
53 104 158 215 272 380 523 responses.name
63 77 114 128 168 182 225 239 282 336 395 471 538 609 641 responses.partition_responses
75 126 180 237 responses.partition_responses.index to responses.partition_responses
135 192 249 354 throttle_time_ms to the end
294 410 553 responses.partition_responses.index to responses.partition_responses.record_errors
296 321 412 448 555 591 responses.partition_responses.record_errors
307 426 569 responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
309 428 571 responses.partition_responses.record_errors.batch_index_error_message
323 450 593 responses.partition_responses.error_message
443 586 responses.partition_responses.record_errors.tags
466 611 639 responses.partition_responses.tags
487 657 responses.tags
494 666 throttle_time_ms to tags
496 668 742 tags
629 responses.partition_responses.tags.current_leader.leader_id to responses.partition_responses.tags.current_leader.tags
631 responses.partition_responses.tags.current_leader.tags
635 responses.partition_responses.tags.current_leader
685 738 tags.node_endpoints
700 tags.node_endpoints.node_id to tags.node_endpoints.host
702 tags.node_endpoints.host
716 tags.node_endpoints.port to tags.node_endpoints.rack
718 tags.node_endpoints.rack
733 tags.node_endpoints.tags
"""
