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
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (partition_responses_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 14 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 260
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
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
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (partition_responses_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 14 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 260
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
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
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (partition_responses_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 22 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 308
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
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
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (partition_responses_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 30 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 356
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
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
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        (partition_responses_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 36 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 524
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
            # responses.partition_responses.index to responses.partition_responses.record_errors
            index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors_count = unpack_ihqqqi(
                buf, pos
            )
            # responses.partition_responses.record_errors
            pos += 34
            if record_errors_count < 0:
                raise Malformed(f"invalid length {record_errors_count}")
            if record_errors_count * 6 > end - pos:
                raise Malformed(f"{record_errors_count} elements announced, {end - pos} bytes remain")
            budget -= record_errors_count * 212
            if budget < 0:
                raise Malformed(f"{record_errors_count} more would take more than {DECODED_BYTES_MAX} bytes")
            record_errors = []
            for _ in range(record_errors_count):
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
    responses_count = buf[pos]
    pos += 1
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 3 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        partition_responses_count = buf[pos]
        pos += 1
        if partition_responses_count > 127:
            partition_responses_count, pos = read_uvarint(buf, pos - 1)
        partition_responses_count -= 1
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 33 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 524
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
            # responses.partition_responses.index to responses.partition_responses.record_errors
            index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors_count = unpack_ihqqqB(
                buf, pos
            )
            # responses.partition_responses.record_errors
            pos += 31
            if record_errors_count > 127:
                record_errors_count, pos = read_uvarint(buf, pos - 1)
            record_errors_count -= 1
            if record_errors_count < 0:
                raise Malformed(f"invalid length {record_errors_count}")
            if record_errors_count * 6 > end - pos:
                raise Malformed(f"{record_errors_count} elements announced, {end - pos} bytes remain")
            budget -= record_errors_count * 212
            if budget < 0:
                raise Malformed(f"{record_errors_count} more would take more than {DECODED_BYTES_MAX} bytes")
            record_errors = []
            for _ in range(record_errors_count):
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
    responses_count = buf[pos]
    pos += 1
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 3 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partition_responses
        partition_responses_count = buf[pos]
        pos += 1
        if partition_responses_count > 127:
            partition_responses_count, pos = read_uvarint(buf, pos - 1)
        partition_responses_count -= 1
        if partition_responses_count < 0:
            raise Malformed(f"invalid length {partition_responses_count}")
        if partition_responses_count * 33 > end - pos:
            raise Malformed(f"{partition_responses_count} elements announced, {end - pos} bytes remain")
        budget -= partition_responses_count * 668
        if budget < 0:
            raise Malformed(f"{partition_responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_responses = []
        for _ in range(partition_responses_count):
            # responses.partition_responses.index to responses.partition_responses.record_errors
            index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors_count = unpack_ihqqqB(
                buf, pos
            )
            # responses.partition_responses.record_errors
            pos += 31
            if record_errors_count > 127:
                record_errors_count, pos = read_uvarint(buf, pos - 1)
            record_errors_count -= 1
            if record_errors_count < 0:
                raise Malformed(f"invalid length {record_errors_count}")
            if record_errors_count * 6 > end - pos:
                raise Malformed(f"{record_errors_count} elements announced, {end - pos} bytes remain")
            budget -= record_errors_count * 212
            if budget < 0:
                raise Malformed(f"{record_errors_count} more would take more than {DECODED_BYTES_MAX} bytes")
            record_errors = []
            for _ in range(record_errors_count):
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
                tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                for _ in range(tag_count):
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
        tag_count_2, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        for _ in range(tag_count_2):
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
                node_endpoints_count = buf[pos]
                pos += 1
                if node_endpoints_count > 127:
                    node_endpoints_count, pos = read_uvarint(buf, pos - 1)
                node_endpoints_count -= 1
                if node_endpoints_count < 0:
                    raise Malformed(f"invalid length {node_endpoints_count}")
                if node_endpoints_count * 11 > end - pos:
                    raise Malformed(f"{node_endpoints_count} elements announced, {end - pos} bytes remain")
                budget -= node_endpoints_count * 340
                if budget < 0:
                    raise Malformed(f"{node_endpoints_count} more would take more than {DECODED_BYTES_MAX} bytes")
                node_endpoints = []
                for _ in range(node_endpoints_count):
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
                        raise Malformed(f"invalid length {n}")
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
37 84 88 137 142 194 199 251 256 358 363 504 508 670 750 the message
41 82 92 133 146 190 203 247 260 354 367 496 512 668 responses
53 104 158 215 272 382 527 responses.name
63 77 114 128 168 182 225 239 282 338 397 475 542 615 647 responses.partition_responses
75 126 180 237 responses.partition_responses.index to responses.partition_responses
135 192 249 356 throttle_time_ms to the end
294 412 557 responses.partition_responses.index to responses.partition_responses.record_errors
298 323 416 452 561 597 responses.partition_responses.record_errors
309 430 575 responses.partition_responses.record_errors.batch_index to responses.partition_responses.record_errors.batch_index_error_message
311 432 577 responses.partition_responses.record_errors.batch_index_error_message
325 454 599 responses.partition_responses.error_message
447 592 responses.partition_responses.record_errors.tags
470 617 645 responses.partition_responses.tags
491 663 responses.tags
498 672 throttle_time_ms to tags
500 674 748 tags
635 responses.partition_responses.tags.current_leader.leader_id to responses.partition_responses.tags.current_leader.tags
637 responses.partition_responses.tags.current_leader.tags
641 responses.partition_responses.tags.current_leader
691 744 tags.node_endpoints
706 tags.node_endpoints.node_id to tags.node_endpoints.host
708 tags.node_endpoints.host
722 tags.node_endpoints.port to tags.node_endpoints.rack
724 tags.node_endpoints.rack
739 tags.node_endpoints.tags
"""
