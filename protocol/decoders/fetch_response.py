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
    (responses_count,) = unpack_i(buf, pos)
    pos += 4
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 484
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
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
    throttle_time_ms, responses_count = unpack_ii(buf, pos)
    # responses
    pos += 8
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 484
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
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
    throttle_time_ms, responses_count = unpack_ii(buf, pos)
    # responses
    pos += 8
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 30 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 620
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            partition_index, error_code, high_watermark, last_stable_offset, aborted_transactions_count = unpack_ihqqi(
                buf, pos
            )
            # responses.partitions.aborted_transactions
            pos += 26
            if aborted_transactions_count < -1:
                raise Malformed(f"length {aborted_transactions_count}")
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 16 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
    throttle_time_ms, responses_count = unpack_ii(buf, pos)
    # responses
    pos += 8
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 38 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 668
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            (
                partition_index,
                error_code,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted_transactions_count,
            ) = unpack_ihqqqi(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 34
            if aborted_transactions_count < -1:
                raise Malformed(f"length {aborted_transactions_count}")
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 16 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
    throttle_time_ms, error_code, session_id, responses_count = unpack_ihii(buf, pos)
    # responses
    pos += 14
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 38 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 668
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            (
                partition_index,
                error_code_2,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted_transactions_count,
            ) = unpack_ihqqqi(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 34
            if aborted_transactions_count < -1:
                raise Malformed(f"length {aborted_transactions_count}")
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 16 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
    throttle_time_ms, error_code, session_id, responses_count = unpack_ihii(buf, pos)
    # responses
    pos += 14
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 6 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 42 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 700
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            (
                partition_index,
                error_code_2,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted_transactions_count,
            ) = unpack_ihqqqi(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 34
            if aborted_transactions_count < -1:
                raise Malformed(f"length {aborted_transactions_count}")
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 16 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
    throttle_time_ms, error_code, session_id, responses_count = unpack_ihiB(buf, pos)
    # responses
    pos += 11
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 3 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 276
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic
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
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # responses.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 37 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 1164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            (
                partition_index,
                error_code_2,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted_transactions_count,
            ) = unpack_ihqqqB(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 31
            if aborted_transactions_count > 127:
                aborted_transactions_count, pos = read_uvarint(buf, pos - 1)
            aborted_transactions_count -= 1
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 17 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
    throttle_time_ms, error_code, session_id, responses_count = unpack_ihiB(buf, pos)
    # responses
    pos += 11
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 18 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 260
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic_id to responses.partitions
        topic_id, partitions_count = unpack_16sB(buf, pos)
        # responses.partitions
        pos += 17
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 37 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 1164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            (
                partition_index,
                error_code_2,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted_transactions_count,
            ) = unpack_ihqqqB(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 31
            if aborted_transactions_count > 127:
                aborted_transactions_count, pos = read_uvarint(buf, pos - 1)
            aborted_transactions_count -= 1
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 17 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
    throttle_time_ms, error_code, session_id, responses_count = unpack_ihiB(buf, pos)
    # responses
    pos += 11
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 18 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 260
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.topic_id to responses.partitions
        topic_id, partitions_count = unpack_16sB(buf, pos)
        # responses.partitions
        pos += 17
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 37 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 1164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            (
                partition_index,
                error_code_2,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                aborted_transactions_count,
            ) = unpack_ihqqqB(buf, pos)
            # responses.partitions.aborted_transactions
            pos += 31
            if aborted_transactions_count > 127:
                aborted_transactions_count, pos = read_uvarint(buf, pos - 1)
            aborted_transactions_count -= 1
            if aborted_transactions_count < 0:
                aborted_transactions = None
            else:
                if aborted_transactions_count * 17 > end - pos:
                    raise Malformed(f"{aborted_transactions_count} elements announced, {end - pos} bytes remain")
                budget -= aborted_transactions_count * 196
                if budget < 0:
                    raise Malformed(f"{aborted_transactions_count} more would take more than {DECODED_BYTES_MAX} bytes")
                aborted_transactions = []
                for _ in range(aborted_transactions_count):
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
48 121 125 199 203 299 303 404 408 509 513 615 619 805 809 981 985 1152 1231 the message
52 119 131 197 209 297 309 402 414 507 519 613 625 798 815 974 991 1150 responses
64 142 220 320 425 530 639 responses.topic
74 100 152 178 230 278 330 383 435 488 540 594 654 716 774 831 892 950 1007 1068 1126 responses.partitions
86 164 responses.partitions.partition_index to responses.partitions.records
88 166 265 370 475 582 703 879 1055 responses.partitions.records
129 207 307 412 517 623 813 989 throttle_time_ms to responses
242 342 447 552 669 845 1021 responses.partitions.partition_index to responses.partitions.aborted_transactions
246 262 351 367 456 472 561 577 678 699 854 875 1030 1051 responses.partitions.aborted_transactions
260 365 470 575 responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
580 701 877 1053 responses.partitions.preferred_read_replica to responses.partitions.records
693 869 1045 responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions.tags
695 871 1047 responses.partitions.aborted_transactions.tags
720 748 760 772 896 924 936 948 1072 1100 1112 1124 responses.partitions.tags
738 914 1090 responses.partitions.tags.diverging_epoch.epoch to responses.partitions.tags.diverging_epoch.tags
740 916 1092 responses.partitions.tags.diverging_epoch.tags
744 920 1096 responses.partitions.tags.diverging_epoch
750 926 1102 responses.partitions.tags.current_leader.leader_id to responses.partitions.tags.current_leader.tags
752 928 1104 responses.partitions.tags.current_leader.tags
756 932 1108 responses.partitions.tags.current_leader
762 938 1114 responses.partitions.tags.snapshot_id.end_offset to responses.partitions.tags.snapshot_id.tags
764 940 1116 responses.partitions.tags.snapshot_id.tags
768 944 1120 responses.partitions.tags.snapshot_id
793 969 1145 responses.tags
800 976 1154 1229 tags
829 1005 responses.topic_id to responses.partitions
1172 1225 tags.node_endpoints
1187 tags.node_endpoints.node_id to tags.node_endpoints.host
1189 tags.node_endpoints.host
1203 tags.node_endpoints.port to tags.node_endpoints.rack
1205 tags.node_endpoints.rack
1220 tags.node_endpoints.tags
"""
