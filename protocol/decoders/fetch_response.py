"""Decoders of FetchResponse, v0 to v17.

Made by `make codec` from protocol/schema/01_fetch.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from headrace.protocol.varint import read_uvarint

CURRENT_LEADER = PartitionData._field_defaults["current_leader"]
DIVERGING_EPOCH = PartitionData._field_defaults["diverging_epoch"]
SNAPSHOT_ID = PartitionData._field_defaults["snapshot_id"]
unpack_16sB = Struct(">16sB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ihiB = Struct(">ihiB").unpack_from
unpack_ihii = Struct(">ihii").unpack_from
unpack_ihqi = Struct(">ihqi").unpack_from
unpack_ihqqi = Struct(">ihqqi").unpack_from
unpack_ihqqqB = Struct(">ihqqqB").unpack_from
unpack_ihqqqi = Struct(">ihqqqi").unpack_from
unpack_ii = Struct(">ii").unpack_from
unpack_iiB = Struct(">iiB").unpack_from
unpack_iqB = Struct(">iqB").unpack_from
unpack_qiB = Struct(">qiB").unpack_from
unpack_qq = Struct(">qq").unpack_from
unpack_qqB = Struct(">qqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> FetchResponse:
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
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 18 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 484
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.records
            partition_index, error_code, high_watermark, n = unpack_ihqi(buf, pos)
            # responses.partitions.records
            pos += 18
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code,
                        high_watermark,
                        -1,
                        -1,
                        DIVERGING_EPOCH,
                        CURRENT_LEADER,
                        SNAPSHOT_ID,
                        (),
                        -1,
                        records,
                    ),
                )
            )
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # the message
    return new(FetchResponse, (0, 0, 0, responses, ()))


def decode_v1(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, n = unpack_ii(buf, pos)
    # responses
    pos += 8
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 18 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 484
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.records
            partition_index, error_code, high_watermark, n = unpack_ihqi(buf, pos)
            # responses.partitions.records
            pos += 18
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code,
                        high_watermark,
                        -1,
                        -1,
                        DIVERGING_EPOCH,
                        CURRENT_LEADER,
                        SNAPSHOT_ID,
                        (),
                        -1,
                        records,
                    ),
                )
            )
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # the message
    return new(FetchResponse, (throttle_time_ms, 0, 0, responses, ()))


def decode_v4(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, n = unpack_ii(buf, pos)
    # responses
    pos += 8
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 30 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 620
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code, high_watermark, last_stable_offset, n = unpack_ihqqi(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 26
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                aborted_transactions = None
            else:
                if n * 16 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    producer_id, first_offset = unpack_qq(buf, pos)
                    # responses.partitions.aborted_transactions
                    pos += 16
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.records
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code,
                        high_watermark,
                        last_stable_offset,
                        -1,
                        DIVERGING_EPOCH,
                        CURRENT_LEADER,
                        SNAPSHOT_ID,
                        aborted_transactions,
                        -1,
                        records,
                    ),
                )
            )
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # the message
    return new(FetchResponse, (throttle_time_ms, 0, 0, responses, ()))


def decode_v5(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, n = unpack_ii(buf, pos)
    # responses
    pos += 8
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 38 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 668
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = unpack_ihqqqi(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 34
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                aborted_transactions = None
            else:
                if n * 16 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    producer_id, first_offset = unpack_qq(buf, pos)
                    # responses.partitions.aborted_transactions
                    pos += 16
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.records
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code,
                        high_watermark,
                        last_stable_offset,
                        log_start_offset,
                        DIVERGING_EPOCH,
                        CURRENT_LEADER,
                        SNAPSHOT_ID,
                        aborted_transactions,
                        -1,
                        records,
                    ),
                )
            )
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # the message
    return new(FetchResponse, (throttle_time_ms, 0, 0, responses, ()))


def decode_v7(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, error_code, session_id, n = unpack_ihii(buf, pos)
    # responses
    pos += 14
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 38 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 668
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = unpack_ihqqqi(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 34
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                aborted_transactions = None
            else:
                if n * 16 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    producer_id, first_offset = unpack_qq(buf, pos)
                    # responses.partitions.aborted_transactions
                    pos += 16
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.records
            (n,) = unpack_i(buf, pos)
            pos += 4
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        high_watermark,
                        last_stable_offset,
                        log_start_offset,
                        DIVERGING_EPOCH,
                        CURRENT_LEADER,
                        SNAPSHOT_ID,
                        aborted_transactions,
                        -1,
                        records,
                    ),
                )
            )
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # the message
    return new(FetchResponse, (throttle_time_ms, error_code, session_id, responses, ()))


def decode_v11(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, error_code, session_id, n = unpack_ihii(buf, pos)
    # responses
    pos += 14
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 6 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (n,) = unpack_i(buf, pos)
        pos += 4
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 42 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 700
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = unpack_ihqqqi(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 34
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                aborted_transactions = None
            else:
                if n * 16 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    producer_id, first_offset = unpack_qq(buf, pos)
                    # responses.partitions.aborted_transactions
                    pos += 16
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            preferred_read_replica, n = unpack_ii(buf, pos)
            # responses.partitions.records
            pos += 8
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        high_watermark,
                        last_stable_offset,
                        log_start_offset,
                        DIVERGING_EPOCH,
                        CURRENT_LEADER,
                        SNAPSHOT_ID,
                        aborted_transactions,
                        preferred_read_replica,
                        records,
                    ),
                )
            )
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # the message
    return new(FetchResponse, (throttle_time_ms, error_code, session_id, responses, ()))


def decode_v12(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, error_code, session_id, n = unpack_ihiB(buf, pos)
    # responses
    pos += 11
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 3 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 276
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic
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
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 37 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 1164
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = unpack_ihqqqB(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 31
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                aborted_transactions = None
            else:
                if n * 17 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions.tags
                    producer_id, first_offset, n = unpack_qqB(buf, pos)
                    # responses.partitions.aborted_transactions.tags
                    pos += 17
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # responses.partitions.aborted_transactions
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            preferred_read_replica, n = unpack_iB(buf, pos)
            # responses.partitions.records
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            diverging_epoch = DIVERGING_EPOCH
            current_leader = CURRENT_LEADER
            snapshot_id = SNAPSHOT_ID
            # responses.partitions.tags
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
                        # responses.partitions.tags.diverging_epoch.epoch to responses.partitions.tags.diverging_epoch.tags
                        epoch, end_offset, n = unpack_iqB(buf, pos)
                        # responses.partitions.tags.diverging_epoch.tags
                        pos += 13
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.diverging_epoch
                        diverging_epoch = new(EpochEndOffset, (epoch, end_offset))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    if tag == 1:
                        # responses.partitions.tags.current_leader.leader_id to responses.partitions.tags.current_leader.tags
                        leader_id, leader_epoch, n = unpack_iiB(buf, pos)
                        # responses.partitions.tags.current_leader.tags
                        pos += 9
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.current_leader
                        current_leader = new(LeaderIdAndEpoch, (leader_id, leader_epoch))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    if tag == 2:
                        # responses.partitions.tags.snapshot_id.end_offset to responses.partitions.tags.snapshot_id.tags
                        end_offset_2, epoch_2, n = unpack_qiB(buf, pos)
                        # responses.partitions.tags.snapshot_id.tags
                        pos += 13
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.snapshot_id
                        snapshot_id = new(SnapshotId, (end_offset_2, epoch_2))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    pos = tag_stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        high_watermark,
                        last_stable_offset,
                        log_start_offset,
                        diverging_epoch,
                        current_leader,
                        snapshot_id,
                        aborted_transactions,
                        preferred_read_replica,
                        records,
                    ),
                )
            )
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(FetchableTopicResponse, (topic, ZERO_UUID, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(FetchResponse, (throttle_time_ms, error_code, session_id, responses, ()))


def decode_v13(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, error_code, session_id, n = unpack_ihiB(buf, pos)
    # responses
    pos += 11
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 18 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 260
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic_id to responses.partitions
        topic_id, n = unpack_16sB(buf, pos)
        # responses.partitions
        pos += 17
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 37 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 1164
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = unpack_ihqqqB(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 31
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                aborted_transactions = None
            else:
                if n * 17 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions.tags
                    producer_id, first_offset, n = unpack_qqB(buf, pos)
                    # responses.partitions.aborted_transactions.tags
                    pos += 17
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # responses.partitions.aborted_transactions
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            preferred_read_replica, n = unpack_iB(buf, pos)
            # responses.partitions.records
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            diverging_epoch = DIVERGING_EPOCH
            current_leader = CURRENT_LEADER
            snapshot_id = SNAPSHOT_ID
            # responses.partitions.tags
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
                        # responses.partitions.tags.diverging_epoch.epoch to responses.partitions.tags.diverging_epoch.tags
                        epoch, end_offset, n = unpack_iqB(buf, pos)
                        # responses.partitions.tags.diverging_epoch.tags
                        pos += 13
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.diverging_epoch
                        diverging_epoch = new(EpochEndOffset, (epoch, end_offset))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    if tag == 1:
                        # responses.partitions.tags.current_leader.leader_id to responses.partitions.tags.current_leader.tags
                        leader_id, leader_epoch, n = unpack_iiB(buf, pos)
                        # responses.partitions.tags.current_leader.tags
                        pos += 9
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.current_leader
                        current_leader = new(LeaderIdAndEpoch, (leader_id, leader_epoch))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    if tag == 2:
                        # responses.partitions.tags.snapshot_id.end_offset to responses.partitions.tags.snapshot_id.tags
                        end_offset_2, epoch_2, n = unpack_qiB(buf, pos)
                        # responses.partitions.tags.snapshot_id.tags
                        pos += 13
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.snapshot_id
                        snapshot_id = new(SnapshotId, (end_offset_2, epoch_2))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    pos = tag_stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        high_watermark,
                        last_stable_offset,
                        log_start_offset,
                        diverging_epoch,
                        current_leader,
                        snapshot_id,
                        aborted_transactions,
                        preferred_read_replica,
                        records,
                    ),
                )
            )
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(FetchableTopicResponse, ("", topic_id, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(FetchResponse, (throttle_time_ms, error_code, session_id, responses, ()))


def decode_v16(buf: memoryview) -> FetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to responses
    throttle_time_ms, error_code, session_id, n = unpack_ihiB(buf, pos)
    # responses
    pos += 11
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 18 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 260
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(n):
        # responses.topic_id to responses.partitions
        topic_id, n = unpack_16sB(buf, pos)
        # responses.partitions
        pos += 17
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 37 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 1164
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset, n = unpack_ihqqqB(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 31
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                aborted_transactions = None
            else:
                if n * 17 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 196
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(n):
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions.tags
                    producer_id, first_offset, n = unpack_qqB(buf, pos)
                    # responses.partitions.aborted_transactions.tags
                    pos += 17
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # responses.partitions.aborted_transactions
                    aborted_transactions.append(new(AbortedTransaction, (producer_id, first_offset)))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            preferred_read_replica, n = unpack_iB(buf, pos)
            # responses.partitions.records
            pos += 5
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
            n -= 1
            if n < 0:
                records = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                records = buf[pos:stop]
                pos = stop
            # responses.partitions
            diverging_epoch = DIVERGING_EPOCH
            current_leader = CURRENT_LEADER
            snapshot_id = SNAPSHOT_ID
            # responses.partitions.tags
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
                        # responses.partitions.tags.diverging_epoch.epoch to responses.partitions.tags.diverging_epoch.tags
                        epoch, end_offset, n = unpack_iqB(buf, pos)
                        # responses.partitions.tags.diverging_epoch.tags
                        pos += 13
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.diverging_epoch
                        diverging_epoch = new(EpochEndOffset, (epoch, end_offset))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    if tag == 1:
                        # responses.partitions.tags.current_leader.leader_id to responses.partitions.tags.current_leader.tags
                        leader_id, leader_epoch, n = unpack_iiB(buf, pos)
                        # responses.partitions.tags.current_leader.tags
                        pos += 9
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.current_leader
                        current_leader = new(LeaderIdAndEpoch, (leader_id, leader_epoch))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    if tag == 2:
                        # responses.partitions.tags.snapshot_id.end_offset to responses.partitions.tags.snapshot_id.tags
                        end_offset_2, epoch_2, n = unpack_qiB(buf, pos)
                        # responses.partitions.tags.snapshot_id.tags
                        pos += 13
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # responses.partitions.tags.snapshot_id
                        snapshot_id = new(SnapshotId, (end_offset_2, epoch_2))
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # responses.partitions.tags
                    pos = tag_stop
            # responses.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        high_watermark,
                        last_stable_offset,
                        log_start_offset,
                        diverging_epoch,
                        current_leader,
                        snapshot_id,
                        aborted_transactions,
                        preferred_read_replica,
                        records,
                    ),
                )
            )
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(FetchableTopicResponse, ("", topic_id, partitions)))
    # the message
    node_endpoints: Any = ()
    # tags
    n = buf[pos]
    pos += 1
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
    return new(FetchResponse, (throttle_time_ms, error_code, session_id, responses, node_endpoints))


DECODERS: Final[dict[int, Callable[[memoryview], FetchResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v4,
    5: decode_v5,
    6: decode_v5,
    7: decode_v7,
    8: decode_v7,
    9: decode_v7,
    10: decode_v7,
    11: decode_v11,
    12: decode_v12,
    13: decode_v13,
    14: decode_v13,
    15: decode_v13,
    16: decode_v16,
    17: decode_v16,
}
PLACES: Final = """\
48 121 125 199 203 297 301 397 401 497 501 598 602 783 787 954 958 1120 1199 the message
52 119 131 197 209 295 307 395 407 495 507 596 608 776 793 947 964 1118 responses
64 142 220 318 418 518 622 responses.topic
74 100 152 178 230 276 328 376 428 476 528 577 637 694 752 809 865 923 980 1036 1094 responses.partitions
86 164 responses.partitions.partition_index to responses.partitions.records
88 166 263 363 463 565 681 852 1023 responses.partitions.records
129 207 305 405 505 606 791 962 throttle_time_ms to responses
242 340 440 540 652 823 994 responses.partitions.partition_index to responses.partitions.aborted_transactions
244 260 344 360 444 460 544 560 656 677 827 848 998 1019 responses.partitions.aborted_transactions
258 358 458 558 responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
563 679 850 1021 responses.partitions.preferred_read_replica to responses.partitions.records
671 842 1013 responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions.tags
673 844 1015 responses.partitions.aborted_transactions.tags
698 726 738 750 869 897 909 921 1040 1068 1080 1092 responses.partitions.tags
716 887 1058 responses.partitions.tags.diverging_epoch.epoch to responses.partitions.tags.diverging_epoch.tags
718 889 1060 responses.partitions.tags.diverging_epoch.tags
722 893 1064 responses.partitions.tags.diverging_epoch
728 899 1070 responses.partitions.tags.current_leader.leader_id to responses.partitions.tags.current_leader.tags
730 901 1072 responses.partitions.tags.current_leader.tags
734 905 1076 responses.partitions.tags.current_leader
740 911 1082 responses.partitions.tags.snapshot_id.end_offset to responses.partitions.tags.snapshot_id.tags
742 913 1084 responses.partitions.tags.snapshot_id.tags
746 917 1088 responses.partitions.tags.snapshot_id
771 942 1113 responses.tags
778 949 1122 1197 tags
807 978 responses.topic_id to responses.partitions
1140 1193 tags.node_endpoints
1155 tags.node_endpoints.node_id to tags.node_endpoints.host
1157 tags.node_endpoints.host
1171 tags.node_endpoints.port to tags.node_endpoints.rack
1173 tags.node_endpoints.rack
1188 tags.node_endpoints.tags
"""
