"""A topic's wishes for its records: another codec, keys, a look inside; what is wrong in the header is the owner's business."""

import struct

import pytest
from crc32c import crc32c

from headrace.errors import ErrorCode, KafkaError
from headrace.log.config import LogConfig
from headrace.log.writing.validator import fault_of, rules_at
from headrace.protocol.codec_frames import has_usual_frame
from headrace.protocol.compression import Codec
from headrace.protocol.message_set import build_message_set, encode_message
from headrace.protocol.record_batch import (
    CONTROL_BIT,
    TRANSACTIONAL_BIT,
    Record,
    build_batch,
    compute_crc,
    iterate_records,
    parse_header,
)
from headrace.settings import Settings
from headrace.workers.network.produce.record_policy import RecordPolicy
from tests.support.codec_forms import BODY, NOISE, OURS, READ, batch_of, gzip_of
from tests.support.codec_forms import RECORDS as FORM_RECORDS

INVALID = ErrorCode.INVALID_RECORD
NOW_MS = 1_700_000_000_000
RECORDS = [Record(index, NOW_MS - index, b"k%d" % index, b"value" * 20, (("h", b"x"),)) for index in range(20)]
PRODUCER = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 50, "attributes": TRANSACTIONAL_BIT}
RULES = rules_at(LogConfig(), NOW_MS)
DEEP = {"headrace.validate.records.deep": "true"}


def policy(broker=None, **topic):
    return RecordPolicy(Settings(broker or {}), {key.replace("_", "."): value for key, value in topic.items()})


def admitted(asked, batch):
    return asked.admit(memoryview(batch), NOW_MS)


def refusal(asked, batch, call="admit"):
    with pytest.raises(KafkaError) as caught:
        getattr(asked, call)(*(memoryview(batch), NOW_MS)[: 1 if call == "reopen" else 2])
    return caught.value.code


def stamped(batch, position, letter, value):
    """The batch with a field changed and the checksum right."""
    changed = bytearray(batch)
    struct.pack_into(letter, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c(changed[21:]))
    return bytes(changed)


def test_most_topics_ask_nothing():
    assert policy().is_plain
    assert not policy(compression_type="gzip").is_plain
    assert not policy(cleanup_policy="compact").is_plain
    assert not policy(cleanup_policy="compact,delete").is_plain
    assert not policy(DEEP).is_plain


@pytest.mark.parametrize("kind", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_is_stored_in_the_codec_of_its_topic(codec, kind):
    batch = build_batch(RECORDS, codec=codec, **PRODUCER)
    changed = bytes(admitted(policy(compression_type=kind), batch))
    before, after = parse_header(batch), parse_header(changed)
    assert after.codec == ["uncompressed", "gzip", "snappy", "lz4", "zstd"].index(kind)
    assert list(iterate_records(changed)) == RECORDS
    assert compute_crc(changed) == after.crc
    assert not fault_of(memoryview(changed), RULES)
    for field in (
        "is_transactional",
        "producer_id",
        "base_sequence",
        "record_count",
        "base_timestamp",
        "max_timestamp",
    ):
        assert getattr(before, field) == getattr(after, field)
    if after.codec == codec:
        assert changed == batch


@pytest.mark.parametrize(("kind", "low", "high"), [("gzip", 1, 9), ("lz4", 1, 12), ("zstd", -100, 19)])
def test_a_topic_chooses_the_level_of_its_codec(kind, low, high):
    words = [b"%d some words %d" % (number * 7919, number % 17) for number in range(500)]
    records = [Record(index, NOW_MS, None, word) for index, word in enumerate(words)]
    sizes = []
    for level in (low, high):
        asked = policy(**{"compression_type": kind, f"compression_{kind}_level": str(level)})
        changed = bytes(admitted(asked, build_batch(records)))
        assert list(iterate_records(changed)) == records
        assert bytes(asked.convert(memoryview(build_message_set(records, 1)), NOW_MS)) == changed
        sizes.append(len(changed))
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    "batch",
    [
        b"",
        build_batch(RECORDS)[:70],
        build_batch(RECORDS) * 2,
        build_batch(RECORDS)[:-1] + b"?",
        build_batch(RECORDS, attributes=CONTROL_BIT),
        stamped(build_batch(RECORDS), 57, ">i", 0),
        stamped(build_batch(RECORDS), 21, ">h", 6),
        build_batch([(b"k", bytes(2_000_000))]),
    ],
)
def test_a_batch_whose_header_is_wrong_is_passed_for_the_owner_to_refuse(batch):
    for asked in (policy(compression_type="gzip"), policy(cleanup_policy="compact"), policy(DEEP)):
        assert bytes(admitted(asked, batch)) == batch
    assert fault_of(memoryview(batch), RULES)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_compacted_topic_needs_keys(codec):
    asked = policy(cleanup_policy="compact")
    batch = build_batch(RECORDS, codec=codec)
    assert bytes(admitted(asked, batch)) == batch
    keyless = [*RECORDS[:3], RECORDS[3]._replace(key=None)]
    with pytest.raises(KafkaError, match="record 3: no key") as caught:
        admitted(asked, build_batch(keyless, codec=codec))
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert refusal(asked, build_message_set(keyless, 1, min(codec, 3)), "convert") is ErrorCode.INVALID_RECORD
    assert admitted(asked, build_batch([RECORDS[0]._replace(key=b"", value=None)]))


@pytest.mark.parametrize("codec", list(Codec))
def test_the_deep_check_finds_records_that_are_not_what_the_header_says(codec):
    asked = policy(DEEP)
    batch = build_batch(RECORDS, codec=codec)
    assert bytes(admitted(asked, batch)) == batch
    gap = build_batch([RECORDS[0], RECORDS[1]._replace(offset=2)], codec=codec)
    gap = stamped(gap, 23, ">i", 1)
    assert not fault_of(memoryview(gap), RULES), "the header is right"
    assert refusal(asked, gap) is ErrorCode.INVALID_RECORD
    garbage = bytearray(batch)
    garbage[61:] = b"\xff" * (len(batch) - 61)
    garbage = stamped(garbage, 21, ">h", codec)
    assert refusal(asked, garbage) is ErrorCode.INVALID_RECORD


def test_the_deep_check_mends_the_largest_timestamp_and_refuses_times_out_of_bounds():
    batch = build_batch(RECORDS, codec=Codec.LZ4)
    mended = bytes(admitted(policy(DEEP), stamped(batch, 35, ">q", NOW_MS + 99)))
    assert mended == batch
    bounded = policy(DEEP, message_timestamp_before_max_ms="10")
    assert refusal(bounded, batch) is ErrorCode.INVALID_TIMESTAMP
    assert bytes(admitted(bounded, build_batch(RECORDS[:11]))) == build_batch(RECORDS[:11])
    by_leader = policy(DEEP, message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms="10")
    assert bytes(admitted(by_leader, batch)) == batch


def test_a_swarm_is_too_large(monkeypatch):
    monkeypatch.setattr("headrace.workers.network.produce.record_policy.OPENED_RECORDS_MAX", 19)
    assert refusal(policy(DEEP), build_batch(RECORDS)) is ErrorCode.MESSAGE_TOO_LARGE
    assert admitted(policy(DEEP), build_batch(RECORDS[:19]))
    assert admitted(policy(compression_type="gzip"), build_batch(RECORDS)), "nobody looks at its records"


def test_a_bomb_is_too_large():
    bomb = build_batch([(b"k", bytes(65 << 20))], codec=Codec.ZSTD)
    assert refusal(policy(compression_type="gzip"), bomb) is ErrorCode.MESSAGE_TOO_LARGE
    assert refusal(policy(DEEP), bomb) is ErrorCode.MESSAGE_TOO_LARGE


def test_old_sets_are_converted_into_the_codec_of_the_topic_or_their_own():
    plain = [record._replace(headers=()) for record in RECORDS]
    for codec in (0, 1, 2, 3):
        message_set = build_message_set(plain, 1, codec)
        for asked, wanted in ((policy(), codec), (policy(compression_type="zstd"), Codec.ZSTD)):
            batch = bytes(asked.convert(memoryview(message_set), NOW_MS))
            assert parse_header(batch).codec == wanted
            assert list(iterate_records(batch)) == plain
            assert not fault_of(memoryview(batch), RULES)


def test_an_old_message_above_the_limit_is_refused_wherever_it_stands():
    asked = policy(max_message_bytes="200")
    small, large = encode_message(0, 1, NOW_MS, None, b"v"), encode_message(1, 1, NOW_MS, None, bytes(200))
    assert asked.convert(memoryview(small * 20), NOW_MS)
    assert refusal(asked, small * 3 + large, "convert") is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_of_v2_behind_old_messages_is_no_set():
    old, new = encode_message(0, 1, NOW_MS, None, b"v"), build_batch(RECORDS)
    assert refusal(policy(), old + new, "convert") is ErrorCode.CORRUPT_MESSAGE
    assert bytes(policy().convert(memoryview(new), NOW_MS)) == new


def test_times_of_old_messages_are_checked_one_by_one():
    asked = policy(message_timestamp_after_max_ms="1000")
    assert refusal(asked, encode_message(0, 1, NOW_MS + 1001, None, b""), "convert") is ErrorCode.INVALID_TIMESTAMP
    assert asked.convert(memoryview(encode_message(0, 1, NOW_MS + 1000, None, b"")), NOW_MS)
    assert asked.convert(memoryview(encode_message(0, 0, 0, None, b"")), NOW_MS), "v0 has no time to be wrong"


@pytest.mark.parametrize("asked", [policy(), policy(cleanup_policy="compact"), policy(compression_type="zstd")])
@pytest.mark.parametrize("codec", list(Codec)[1:])
def test_noise_that_says_it_is_compressed_is_refused(asked, codec):
    """With its checksum right. Taken as it is, it would stop every consumer of the partition there."""
    for data in (
        NOISE[f"{codec.name.lower()}, noise of 60"][1],
        NOISE[f"{codec.name.lower()}, noise after its head"][1],
    ):
        assert refusal(asked, batch_of(codec, data), call="admit" if not asked.is_plain else "reopen") == INVALID


def test_a_frame_that_only_some_clients_read_becomes_one_that_all_do():
    for codec, data in {**READ, "lz4, two frames": OURS["lz4, two frames"]}.values():
        for asked in (policy(), policy(cleanup_policy="compact")):
            batch = batch_of(codec, data)
            found = asked.reopen(memoryview(batch)) if asked.is_plain else admitted(asked, batch)
            assert parse_header(found).codec == codec
            assert has_usual_frame(memoryview(found))
            assert fault_of(memoryview(found), RULES) is ErrorCode.NONE
            assert list(iterate_records(found)) == FORM_RECORDS


def test_a_frame_is_left_as_it_is_where_another_would_be_too_large():
    batch = batch_of(Codec.GZIP, gzip_of(BODY, level=9) + b"\0")
    assert len(policy().reopen(memoryview(batch))) > len(batch)
    assert policy(max_message_bytes=str(len(batch))).reopen(memoryview(batch)) == batch


def test_a_frame_of_a_batch_whose_checksum_is_wrong_is_left_to_its_owner():
    batch = batch_of(*NOISE["gzip, noise of 60"])
    batch[17] ^= 1
    assert policy().reopen(memoryview(batch)) == batch


def test_a_batch_of_v2_in_an_old_produce_is_looked_at_as_well():
    assert refusal(policy(), batch_of(*NOISE["lz4, noise of 60"]), call="convert") == INVALID
    lying = stamped(build_batch(RECORDS), 57, ">i", len(RECORDS) - 1)
    assert refusal(policy(), stamped(lying, 23, ">i", len(RECORDS) - 2), call="convert") == INVALID
