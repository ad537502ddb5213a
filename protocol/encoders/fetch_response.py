"""Encoders of FetchResponse, v0 to v17.

Made by `make codec` from protocol/schema/01_fetch.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import SMALL_RECORDS_BYTES, encode_string_length
from headrace.protocol.messages.fetch_response import PartitionData
from headrace.protocol.varint import UVARINTS, encode_uvarint

CURRENT_LEADER = PartitionData._field_defaults["current_leader"]
DIVERGING_EPOCH = PartitionData._field_defaults["diverging_epoch"]
SNAPSHOT_ID = PartitionData._field_defaults["snapshot_id"]
pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ihi = Struct(">ihi").pack
pack_ihiB = Struct(">ihiB").pack
pack_ihii = Struct(">ihii").pack
pack_ihq = Struct(">ihq").pack
pack_ihqq = Struct(">ihqq").pack
pack_ihqqq = Struct(">ihqqq").pack
pack_ii = Struct(">ii").pack
pack_iix = Struct(">iix").pack
pack_iqx = Struct(">iqx").pack
pack_qix = Struct(">qix").pack
pack_qq = Struct(">qq").pack
pack_qqx = Struct(">qqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, _, _, responses, _ = msg
    # responses
    put(pack_i(len(responses)))
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partitions
        put(pack_i(len(partitions)))
        for partition_index, error_code, high_watermark, _, _, _, _, _, _, _, records in partitions:
            # responses.partitions.partition_index to responses.partitions.records
            put(pack_ihq(partition_index, error_code, high_watermark))
            # responses.partitions.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, responses, _ = msg
    # throttle_time_ms to responses
    put(pack_ii(throttle_time_ms, len(responses)))
    # responses
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partitions
        put(pack_i(len(partitions)))
        for partition_index, error_code, high_watermark, _, _, _, _, _, _, _, records in partitions:
            # responses.partitions.partition_index to responses.partitions.records
            put(pack_ihq(partition_index, error_code, high_watermark))
            # responses.partitions.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, responses, _ = msg
    # throttle_time_ms to responses
    put(pack_ii(throttle_time_ms, len(responses)))
    # responses
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partitions
        put(pack_i(len(partitions)))
        for (
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            _,
            _,
            _,
            _,
            aborted_transactions,
            _,
            records,
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqq(partition_index, error_code, high_watermark, last_stable_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(aborted_transactions)))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qq(producer_id, first_offset))
            # responses.partitions.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, responses, _ = msg
    # throttle_time_ms to responses
    put(pack_ii(throttle_time_ms, len(responses)))
    # responses
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partitions
        put(pack_i(len(partitions)))
        for (
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            _,
            _,
            _,
            aborted_transactions,
            _,
            records,
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqqq(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(aborted_transactions)))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qq(producer_id, first_offset))
            # responses.partitions.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, session_id, responses, _ = msg
    # throttle_time_ms to responses
    put(pack_ihii(throttle_time_ms, error_code, session_id, len(responses)))
    # responses
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partitions
        put(pack_i(len(partitions)))
        for (
            partition_index,
            error_code_2,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            _,
            _,
            _,
            aborted_transactions,
            _,
            records,
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqqq(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(aborted_transactions)))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qq(producer_id, first_offset))
            # responses.partitions.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v11(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, session_id, responses, _ = msg
    # throttle_time_ms to responses
    put(pack_ihii(throttle_time_ms, error_code, session_id, len(responses)))
    # responses
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # responses.partitions
        put(pack_i(len(partitions)))
        for (
            partition_index,
            error_code_2,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            _,
            _,
            _,
            aborted_transactions,
            preferred_read_replica,
            records,
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqqq(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(aborted_transactions)))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qq(producer_id, first_offset))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            put(pack_i(preferred_read_replica))
            # responses.partitions.records
            if records is None:
                put(b"\xff\xff\xff\xff")
            else:
                put(pack_i(len(records)))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v12(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, session_id, responses, _ = msg
    # responses
    n = len(responses) + 1
    if n < 128:
        # throttle_time_ms to responses
        put(pack_ihiB(throttle_time_ms, error_code, session_id, n))
    # responses
    else:
        # throttle_time_ms to responses
        put(pack_ihi(throttle_time_ms, error_code, session_id))
        # responses
        put(encode_uvarint(n))
    for topic, _, partitions in responses:
        # responses.topic
        text = topic.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # responses.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for (
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
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqqq(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\x00")
            else:
                n = len(aborted_transactions) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qqx(producer_id, first_offset))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            put(pack_i(preferred_read_replica))
            # responses.partitions.records
            if records is None:
                put(b"\x00")
            else:
                n = len(records) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
            # responses.partitions
            if diverging_epoch is DIVERGING_EPOCH and current_leader is CURRENT_LEADER and snapshot_id is SNAPSHOT_ID:
                put(b"\0")
            else:
                tags = []
                outer = out
                # responses.partitions.diverging_epoch
                if diverging_epoch != DIVERGING_EPOCH:
                    out = []
                    put = out.append
                    epoch, end_offset = diverging_epoch
                    # responses.partitions.diverging_epoch.epoch to responses.partitions.diverging_epoch
                    put(pack_iqx(epoch, end_offset))
                    # responses.partitions.diverging_epoch
                    tags.append((0, join(out)))
                # responses.partitions.current_leader
                if current_leader != CURRENT_LEADER:
                    out = []
                    put = out.append
                    leader_id, leader_epoch = current_leader
                    # responses.partitions.current_leader.leader_id to responses.partitions.current_leader
                    put(pack_iix(leader_id, leader_epoch))
                    # responses.partitions.current_leader
                    tags.append((1, join(out)))
                # responses.partitions.snapshot_id
                if snapshot_id != SNAPSHOT_ID:
                    out = []
                    put = out.append
                    end_offset_2, epoch_2 = snapshot_id
                    # responses.partitions.snapshot_id.end_offset to responses.partitions.snapshot_id
                    put(pack_qix(end_offset_2, epoch_2))
                    # responses.partitions.snapshot_id
                    tags.append((2, join(out)))
                # responses.partitions
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
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v13(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, session_id, responses, _ = msg
    # responses
    n = len(responses) + 1
    if n < 128:
        # throttle_time_ms to responses
        put(pack_ihiB(throttle_time_ms, error_code, session_id, n))
    # responses
    else:
        # throttle_time_ms to responses
        put(pack_ihi(throttle_time_ms, error_code, session_id))
        # responses
        put(encode_uvarint(n))
    for _, topic_id, partitions in responses:
        # responses.partitions
        n = len(partitions) + 1
        if n < 128:
            # responses.topic_id to responses.partitions
            put(pack_16sB(topic_id, n))
        # responses.partitions
        else:
            # responses.topic_id to responses.partitions
            put(pack_16s(topic_id))
            # responses.partitions
            put(encode_uvarint(n))
        for (
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
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqqq(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\x00")
            else:
                n = len(aborted_transactions) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qqx(producer_id, first_offset))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            put(pack_i(preferred_read_replica))
            # responses.partitions.records
            if records is None:
                put(b"\x00")
            else:
                n = len(records) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
            # responses.partitions
            if diverging_epoch is DIVERGING_EPOCH and current_leader is CURRENT_LEADER and snapshot_id is SNAPSHOT_ID:
                put(b"\0")
            else:
                tags = []
                outer = out
                # responses.partitions.diverging_epoch
                if diverging_epoch != DIVERGING_EPOCH:
                    out = []
                    put = out.append
                    epoch, end_offset = diverging_epoch
                    # responses.partitions.diverging_epoch.epoch to responses.partitions.diverging_epoch
                    put(pack_iqx(epoch, end_offset))
                    # responses.partitions.diverging_epoch
                    tags.append((0, join(out)))
                # responses.partitions.current_leader
                if current_leader != CURRENT_LEADER:
                    out = []
                    put = out.append
                    leader_id, leader_epoch = current_leader
                    # responses.partitions.current_leader.leader_id to responses.partitions.current_leader
                    put(pack_iix(leader_id, leader_epoch))
                    # responses.partitions.current_leader
                    tags.append((1, join(out)))
                # responses.partitions.snapshot_id
                if snapshot_id != SNAPSHOT_ID:
                    out = []
                    put = out.append
                    end_offset_2, epoch_2 = snapshot_id
                    # responses.partitions.snapshot_id.end_offset to responses.partitions.snapshot_id
                    put(pack_qix(end_offset_2, epoch_2))
                    # responses.partitions.snapshot_id
                    tags.append((2, join(out)))
                # responses.partitions
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
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v16(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, session_id, responses, node_endpoints = msg
    # responses
    n = len(responses) + 1
    if n < 128:
        # throttle_time_ms to responses
        put(pack_ihiB(throttle_time_ms, error_code, session_id, n))
    # responses
    else:
        # throttle_time_ms to responses
        put(pack_ihi(throttle_time_ms, error_code, session_id))
        # responses
        put(encode_uvarint(n))
    for _, topic_id, partitions in responses:
        # responses.partitions
        n = len(partitions) + 1
        if n < 128:
            # responses.topic_id to responses.partitions
            put(pack_16sB(topic_id, n))
        # responses.partitions
        else:
            # responses.topic_id to responses.partitions
            put(pack_16s(topic_id))
            # responses.partitions
            put(encode_uvarint(n))
        for (
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
        ) in partitions:
            # responses.partitions.partition_index to responses.partitions.aborted_transactions
            put(pack_ihqqq(partition_index, error_code_2, high_watermark, last_stable_offset, log_start_offset))
            # responses.partitions.aborted_transactions
            if aborted_transactions is None:
                put(b"\x00")
            else:
                n = len(aborted_transactions) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                for producer_id, first_offset in aborted_transactions:
                    # responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
                    put(pack_qqx(producer_id, first_offset))
            # responses.partitions.preferred_read_replica to responses.partitions.records
            put(pack_i(preferred_read_replica))
            # responses.partitions.records
            if records is None:
                put(b"\x00")
            else:
                n = len(records) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                if type(records) is bytes and len(records) <= SMALL_RECORDS_BYTES:
                    put(records)
                else:
                    parts.append(join(out))
                    parts.append(records)
                    out.clear()
            # responses.partitions
            if diverging_epoch is DIVERGING_EPOCH and current_leader is CURRENT_LEADER and snapshot_id is SNAPSHOT_ID:
                put(b"\0")
            else:
                tags = []
                outer = out
                # responses.partitions.diverging_epoch
                if diverging_epoch != DIVERGING_EPOCH:
                    out = []
                    put = out.append
                    epoch, end_offset = diverging_epoch
                    # responses.partitions.diverging_epoch.epoch to responses.partitions.diverging_epoch
                    put(pack_iqx(epoch, end_offset))
                    # responses.partitions.diverging_epoch
                    tags.append((0, join(out)))
                # responses.partitions.current_leader
                if current_leader != CURRENT_LEADER:
                    out = []
                    put = out.append
                    leader_id, leader_epoch = current_leader
                    # responses.partitions.current_leader.leader_id to responses.partitions.current_leader
                    put(pack_iix(leader_id, leader_epoch))
                    # responses.partitions.current_leader
                    tags.append((1, join(out)))
                # responses.partitions.snapshot_id
                if snapshot_id != SNAPSHOT_ID:
                    out = []
                    put = out.append
                    end_offset_2, epoch_2 = snapshot_id
                    # responses.partitions.snapshot_id.end_offset to responses.partitions.snapshot_id
                    put(pack_qix(end_offset_2, epoch_2))
                    # responses.partitions.snapshot_id
                    tags.append((2, join(out)))
                # responses.partitions
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
    2: encode_v1,
    3: encode_v1,
    4: encode_v4,
    5: encode_v5,
    6: encode_v5,
    7: encode_v7,
    8: encode_v7,
    9: encode_v7,
    10: encode_v7,
    11: encode_v11,
    12: encode_v12,
    13: encode_v13,
    14: encode_v13,
    15: encode_v13,
    16: encode_v16,
    17: encode_v16,
}
PLACES: Final = """\
37 65 71 100 106 155 161 210 216 265 271 322 328 436 443 554 561 672 711 the message
42 78 113 168 223 278 333 338 342 434 448 453 457 552 566 571 575 670 responses
45 80 115 170 225 280 345 responses.topic
49 84 119 174 229 284 350 391 424 460 465 469 509 542 578 583 587 627 660 responses.partitions
52 87 responses.partitions.partition_index to responses.partitions.records
54 89 144 199 254 311 379 497 615 responses.partitions.records
76 111 166 221 276 336 340 451 455 569 573 throttle_time_ms to responses
134 189 244 299 366 484 602 responses.partitions.partition_index to responses.partitions.aborted_transactions
136 191 246 301 368 486 604 responses.partitions.aborted_transactions
142 197 252 307 375 493 611 responses.partitions.aborted_transactions.producer_id to responses.partitions.aborted_transactions
309 377 495 613 responses.partitions.preferred_read_replica to responses.partitions.records
397 404 515 522 633 640 responses.partitions.diverging_epoch
402 520 638 responses.partitions.diverging_epoch.epoch to responses.partitions.diverging_epoch
406 413 524 531 642 649 responses.partitions.current_leader
411 529 647 responses.partitions.current_leader.leader_id to responses.partitions.current_leader
415 422 533 540 651 658 responses.partitions.snapshot_id
420 538 656 responses.partitions.snapshot_id.end_offset to responses.partitions.snapshot_id
463 467 581 585 responses.topic_id to responses.partitions
678 708 node_endpoints
685 691 695 node_endpoints.host
689 693 node_endpoints.node_id to node_endpoints.host
698 node_endpoints.port to node_endpoints.rack
700 node_endpoints.rack
"""
