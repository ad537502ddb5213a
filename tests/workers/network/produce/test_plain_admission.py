"""What a Produce of an uncompressed batch has to hold, as a client meets it: through the handler, on any topic."""

import random

import pytest

from headrace.errors import ErrorCode, KafkaError
from headrace.log.config import LogConfig
from headrace.log.writing.validator import COMPRESSED_RECORDS_MAX, TIME_MIN, fault_of, rules_at
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request, parse_response_header
from headrace.protocol.plain_records import scan_plain
from headrace.protocol.record_batch import (
    HEADER,
    HEADER_BYTES,
    CorruptRecord,
    Record,
    build_batch,
    compute_crc,
    iterate_records,
    parse_header,
)
from headrace.settings import Settings
from headrace.workers.network.produce.plain_admission import _is_one, check_plain
from headrace.workers.network.produce.record_policy import RecordPolicy
from tests.workers.network.network_rig import PARTITION_WORKER

NOW_MS = 1_795_000_000_000
FIELDS = (
    "base_offset", "batch_length", "partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "record_count",
)  # fmt: skip


def batch_of(records=((None, b"value"),), body=None, codec=0, **fields):
    """A batch with some of its header's fields changed, its checksum right."""
    batch = bytearray(build_batch(records, timestamp_ms=NOW_MS, codec=codec))
    if body is not None:
        batch[HEADER_BYTES:] = body
    header = parse_header(batch)._replace(batch_length=len(batch) - 12, **fields)
    batch[:HEADER_BYTES] = HEADER.pack(*header)
    if "crc" not in fields:
        batch[17:21] = compute_crc(batch).to_bytes(4, "big")
    return memoryview(batch)


def produce(rig, client, batch):
    """(error, its text) or None where the batch went to its owner."""
    request = messages.ProduceRequest
    data = [request.PartitionProduceData(0, bytes(batch))]
    body = request(acks=1, timeout_ms=1000, topic_data=[request.TopicProduceData("t", data)])
    written = rig.seat.writers[PARTITION_WORKER].written
    before = len(written)
    client.sendall(build_request(ApiKey.PRODUCE, 8, 7, "bench", body))
    client.settimeout(0.01)
    answer = b""
    for _ in range(1_000):
        rig.turn(10)
        if len(written) > before:
            return None
        try:
            answer += client.recv(1 << 16)
        except TimeoutError:
            continue
        if answer:
            _id, start = parse_response_header(memoryview(answer)[4:], ApiKey.PRODUCE, 8)
            row = (
                decode_response(ApiKey.PRODUCE, 8, memoryview(answer)[4 + start :]).responses[0].partition_responses[0]
            )
            return ErrorCode(row.error_code).name, row.error_message
    raise AssertionError("no answer")


LIES = {
    "a count of 5 with 1 record": batch_of(record_count=5, last_offset_delta=4),
    "a count of 1 without a record": batch_of(body=b""),
    "a count of 2**31-1": batch_of(record_count=2**31 - 1, last_offset_delta=2**31 - 2),
    "garbage": batch_of(body=random.Random(1).randbytes(200)),
    "a record's length that is too large": batch_of(body=b"\x7f" + bytes(build_batch([(None, b"v")])[62:])),
    "a key that ends behind its record": batch_of(body=b"\x10\0\0\0\x40\1\0\0\0"),
    "bytes after the last record": batch_of(body=bytes(build_batch([(None, b"v")])[61:]) + b"\0"),
    "offset deltas that leave one out": batch_of([Record(0, NOW_MS, None, b""), Record(2, NOW_MS, None, b"")],
                                                last_offset_delta=1),
}  # fmt: skip


@pytest.mark.parametrize("what", LIES)
def test_a_header_that_lies_about_uncompressed_records_is_refused_with_the_reason(rig, what):
    error, text = produce(rig, rig.connect(), LIES[what])
    assert error == "INVALID_RECORD"
    assert text
    assert produce(rig, rig.connect(), batch_of()) is None, "others are served"


@pytest.mark.parametrize("what", LIES)
@pytest.mark.parametrize(
    "topic", [{"compression.type": "lz4"}, {"compression.type": "uncompressed"}, {"cleanup.policy": "compact"}]
)
def test_the_same_holds_whatever_the_topic_asks_for(what, topic):
    policy = RecordPolicy(Settings({}), topic)
    assert policy.admit(batch_of([(b"k", b"v")]), NOW_MS)
    with pytest.raises(KafkaError) as told:
        policy.admit(memoryview(bytearray(LIES[what])), NOW_MS)
    assert told.value.code in (ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE)


def test_where_the_checksum_is_wrong_the_owner_says_so(rig):
    assert produce(rig, rig.connect(), batch_of(body=b"garbage", crc=1)) is None


def test_a_largest_timestamp_that_is_wrong_is_mended():
    records = [Record(0, NOW_MS, None, b""), Record(1, NOW_MS + 70, None, b""), Record(2, NOW_MS - 9, None, b"")]
    for claimed in (NOW_MS, NOW_MS + 2**40, -1):
        batch = batch_of(records, max_timestamp=claimed)
        check_plain(batch)
        assert parse_header(batch).max_timestamp == NOW_MS + 70
        assert parse_header(batch).crc == compute_crc(batch)


def test_what_is_right_is_not_touched():
    for records in (
        [(None, b"v")],
        [Record(i, NOW_MS + i, b"k", b"v") for i in range(200)],
        [Record(0, -1, None, b"")],
    ):
        batch = batch_of(records)
        before = bytes(batch)
        check_plain(batch)
        assert bytes(batch) == before


@pytest.mark.parametrize(("base", "delta"), [(2**63 - 1, 10), (-(2**63), -1), (-(2**63), 0), (2**62, 2**62)])
def test_timestamps_beyond_64_bits_are_refused(rig, base, delta):
    plain = build_batch([Record(0, 0, None, b""), Record(1, delta, None, b"")])[HEADER_BYTES:]
    batch = batch_of([(None, b"")] * 2, body=plain, base_timestamp=base, max_timestamp=NOW_MS)
    assert produce(rig, rig.connect(), batch)[0] == "INVALID_TIMESTAMP"


# What the owner of a log says of any batch, compressed ones too


def fault(batch):
    return fault_of(batch, rules_at(LogConfig(), NOW_MS)).name


def test_a_base_timestamp_that_leaves_no_room_for_a_time_span_is_refused():
    for codec in (0, 4):
        assert fault(batch_of(codec=codec, base_timestamp=-(2**63))) == "INVALID_TIMESTAMP"
        assert fault(batch_of(codec=codec, base_timestamp=TIME_MIN)) == "NONE"
        assert fault(batch_of(codec=codec, base_timestamp=-1, max_timestamp=-1)) == "NONE"


@pytest.mark.parametrize("codec", range(5))
def test_no_batch_takes_more_offsets_than_its_bytes_can_hold(codec):
    def with_count(count, records=((None, b"v"),)):
        return fault(batch_of(records, codec=codec, record_count=count, last_offset_delta=count - 1))

    assert with_count(2**31 - 1) == "INVALID_RECORD"
    assert with_count(1) == "NONE"
    many = [(None, b"")] * 5_000
    assert with_count(5_000, many) == "NONE"
    assert with_count(COMPRESSED_RECORDS_MAX + 1, [(None, bytes(900_000))]) == "INVALID_RECORD"


@pytest.mark.parametrize("codec", range(5))
def test_the_hot_path_judges_as_the_validator_does(codec, tmp_path):
    from tests.support.log_fixtures import LogMaker

    logs = LogMaker(tmp_path)
    log = logs.open()
    for fields in (
        {"record_count": 2**31 - 1, "last_offset_delta": 2**31 - 2},
        {"record_count": 30, "last_offset_delta": 29},
        {"base_timestamp": -(2**63)},
        {},
    ):
        batch = batch_of(codec=codec, **fields)
        wanted = fault_of(batch, rules_at(log.config, logs.clock.ms))
        ((error, _base, _time),) = log.append_as_leader([batch], 1, logs.clock.ms)
        assert error == wanted, fields


def test_records_of_a_compressed_batch_keep_within_64_bits_whatever_their_deltas_say():
    """Nobody looked into it when it came; those who read it compute with these."""
    for base, delta, wanted in ((2**63 - 1, 10, 2**63 - 1), (TIME_MIN, -(2**63), -(2**63)), (5, 2**63 - 1, 2**63 - 1)):
        body = build_batch([Record(0, 0, None, b""), Record(1, delta, None, b"")])[HEADER_BYTES:]
        batch = batch_of([(None, b"")] * 2, body=body, base_timestamp=base)
        assert list(iterate_records(batch))[1].timestamp_ms == wanted


@pytest.mark.parametrize("size", [0, 1, 57, 58, 59, 60, 63, 64, 100, 8_180, 8_192, 20_000])
@pytest.mark.parametrize("key", [None, b"", b"k", b"k" * 63, b"k" * 64, b"k" * 300])
def test_one_record_of_any_size_is_judged_as_the_whole_walk_judges_it(size, key):
    """Most batches of one record are judged by a shortcut."""
    for value in (bytes(size), None):
        batch = batch_of([(key, value)])
        check_plain(batch)
        for place in range(HEADER_BYTES, len(batch)):
            if (
                HEADER_BYTES + 12 < place < len(batch) - 3
                and not HEADER_BYTES + len(key or b"") < place < HEADER_BYTES + len(key or b"") + 14
            ):
                continue
            changed = batch_of(
                [(key, value)],
                body=bytes(batch[HEADER_BYTES:place]) + bytes([batch[place] ^ 2]) + bytes(batch[place + 1 :]),
            )
            try:
                scan_plain(bytes(changed[HEADER_BYTES:]), 1)
                is_right = True
            except CorruptRecord:
                is_right = False
            assert _is_one(changed) <= is_right
    assert _is_one(batch_of([(b"k", bytes(100))]))
    assert _is_one(batch_of([(None, bytes(10))]))
