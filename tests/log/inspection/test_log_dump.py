"""What dump-log shows of each kind of file, and that nothing that lies in one ends it with a traceback."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ids import TopicPartition
from headrace.log.inspection.entry_scan import WINDOW_BYTES, EntryScan
from headrace.log.inspection.log_dump import DumpOptions, dump
from headrace.log.state.checkpoints import write_offset_checkpoint, write_partition_metadata
from headrace.protocol.message_07 import build_message_07, build_set_07
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record, build_batch
from tests.support.codec_forms import NOISE, batch_of
from tests.support.log_damage import BATCHES, RECORDS_PER_BATCH, flip, write_log

DEEP = DumpOptions(is_deep=True, has_data=True)
NAMES = [
    "00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
    "00000000000000000000.txnindex", "00000000000000000000.snapshot", "leader-epoch-checkpoint", "partition.metadata",
    "00000000000000000000.kafka", "meta.properties", "recovery-point-offset-checkpoint", "cleaner-offset-checkpoint",
]  # fmt: skip


def items(path, options=DEEP):
    found = list(dump(path, options))
    json.dumps(found)
    return found


def of(kind, found):
    return [item for item in found if item["type"] == kind]


def test_every_record_of_a_log_is_shown(tmp_path):
    directory = write_log(tmp_path)
    segments = sorted(directory.glob("*.log"))
    assert len(segments) > 1
    found = [item for path in segments for item in items(path)]
    assert not of("fault", found)
    assert [item["offset"] for item in of("record", found)] == list(range(BATCHES * RECORDS_PER_BATCH))
    assert [item["sequence"] for item in of("record", found)] == list(range(BATCHES * RECORDS_PER_BATCH))
    assert {item["codec"] for item in of("batch", found)} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert all(item["key"] == "k" and item["value"] == "v" * 100 for item in of("record", found))


def test_indexes_agree_with_their_segments(tmp_path):
    directory = write_log(tmp_path)
    for path in [*directory.glob("*.index"), *directory.glob("*.timeindex")]:
        found = items(path)
        assert not of("fault", found)
        assert not of("note", found)
        entries = of("index-entry", found) + of("time-index-entry", found)
        assert len(entries) == of("end", found)[0]["entries"] > 1
        assert not of("index-entry", items(path, DumpOptions(is_verify=True)))


@pytest.mark.parametrize(("suffix", "place"), [(".index", 3), (".index", 7), (".timeindex", 7), (".timeindex", 11)])
def test_a_bit_that_flips_in_an_index_is_named_with_its_entry(tmp_path, suffix, place):
    path = write_log(tmp_path) / f"00000000000000000000{suffix}"
    entry_bytes = 8 if suffix == ".index" else 12
    flip(path, 2 * entry_bytes + place)
    faults = of("fault", items(path, DumpOptions(is_verify=True)))
    assert faults[0]["position"] in (2 * entry_bytes, 3 * entry_bytes)
    assert "advice" in faults[0]


def test_a_wrong_checksum_is_named_with_its_batch(tmp_path):
    path = write_log(tmp_path) / "00000000000000000000.log"
    second = of("batch", items(path))[1]
    flip(path, second["position"] + second["size"] - 1)
    found = items(path)
    assert [item["position"] for item in of("batch", found) if not item["is_valid"]] == [second["position"]]
    assert of("fault", found)[0]["position"] == second["position"]
    assert of("end", found)[0]["invalid"] == 1


def test_a_batch_larger_than_the_window_is_checked_piece_by_piece(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    large = build_batch([(b"k", bytes(3 * WINDOW_BYTES))])
    path.write_bytes(large + build_batch([(b"after", b"")], base_offset=1))
    with open(path, "rb") as file:
        entries = list(EntryScan(file.fileno(), 0, path.stat().st_size))
    assert [(entry.size == len(large), entry.is_valid, entry.data is None) for entry in entries] == [
        (True, True, True), (False, True, False)
    ]  # fmt: skip
    assert [item["value_size"] for item in of("record", items(path))] == [3 * WINDOW_BYTES, 0]
    flip(path, 2 * WINDOW_BYTES)
    assert [item["is_valid"] for item in of("batch", items(path))] == [False, True]


def test_a_transactions_marker_and_the_aborted_index_are_shown(tmp_path):
    marker = [Record(0, 7, struct.pack(">hh", 0, 0), struct.pack(">hi", 0, 3))]
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(build_batch(marker, attributes=0x30, producer_id=9, producer_epoch=1))
    (record,) = of("record", items(segment))
    assert (record["marker"], record["coordinator_epoch"]) == ("ABORT", 3)
    index = tmp_path / "00000000000000000000.txnindex"
    index.write_bytes(struct.pack(">hqqqq", 0, 9, 0, 0, 1))
    (aborted,) = of("aborted", items(index))
    assert (aborted["producer_id"], aborted["last_stable_offset"]) == (9, 1)


def test_a_segment_of_kafka_0_7(tmp_path):
    path = tmp_path / "00000000000000000100.kafka"
    path.write_bytes(build_message_07(b"a", 0) + build_set_07([b"b", b"c"], 1))
    found = items(path)
    assert [(item["offset"], item["magic"], item["codec"]) for item in of("message-07", found)] == [
        (100, 0, "none"), (110, 1, "gzip")
    ]  # fmt: skip
    assert [item["value"] for item in of("payload-07", found)] == ["a", "b", "c"]
    assert not of("fault", found)
    flip(path, 9)
    assert [item["position"] for item in of("fault", items(path))] == [0]


def test_keys_that_are_no_text_come_as_base64(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(build_batch([Record(0, 1, b"\xff\xfe", None, (("h", b"\x80"),))]))
    (record,) = of("record", items(path))
    assert record["key"] == {"base64": "//4="}
    assert record["value"] is None
    assert record["headers"] == [["h", {"base64": "gA=="}]]


def test_small_files_are_shown_by_row(tmp_path):
    directory = write_log(tmp_path)
    (producer,) = of("producer", items(sorted(directory.glob("*.snapshot"))[-1]))
    assert (producer["producer_id"], producer["last_sequence"]) == (5, BATCHES * RECORDS_PER_BATCH - 1)
    assert of("leader-epoch", items(directory / "leader-epoch-checkpoint")) == [
        {"type": "leader-epoch", "epoch": 2, "start_offset": 0}
    ]
    path = tmp_path / "recovery-point-offset-checkpoint"
    write_offset_checkpoint(path, {TopicPartition("a-b", 1): 5})
    assert of("checkpoint", items(path)) == [{"type": "checkpoint", "topic": "a-b", "partition": 1, "offset": 5}]
    write_partition_metadata(tmp_path / "partition.metadata", "00" * 16)
    assert of("partition-metadata", items(tmp_path / "partition.metadata"))[0]["topic_id"] == "A" * 22
    (tmp_path / "meta.properties").write_text("#comment\nversion=0\nbroker.id=3\n")
    assert of("meta-properties", items(tmp_path / "meta.properties"))[0]["broker.id"] == "3"


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(noise=st.binary(max_size=300))
def test_noise_is_a_fault_and_never_a_traceback(tmp_path_factory, name, noise):
    path = tmp_path_factory.mktemp("noise", numbered=True) / name
    path.write_bytes(noise)
    items(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_not_there_is_a_fault(tmp_path, name):
    assert of("fault", items(tmp_path / name))


def test_a_huge_length_takes_no_memory(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    whole = bytearray(build_batch([(b"k", b"v")]))
    whole[8:12] = (2**31 - 1).to_bytes(4, "big")
    path.write_bytes(whole)
    (fault,) = of("fault", items(path))
    assert f"{len(whole)} are left" in fault["what"]
    for name in ("no-offset.log", "no-offset.index", "something.else"):
        (tmp_path / name).write_bytes(b"")
        assert of("fault", items(tmp_path / name))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_messages_of_the_old_formats(tmp_path, magic, codec):
    path = tmp_path / "00000000000000000000.log"
    records = [Record(offset, 1_000 + offset if magic else -1, b"k", b"v%d" % offset) for offset in range(5)]
    path.write_bytes(build_message_set(records, magic, codec))
    found = items(path)
    assert not of("fault", found)
    assert [(item["offset"], item["value"]) for item in of("record", found)] == [(n, f"v{n}") for n in range(5)]
    assert {item["magic"] for item in of("batch", found)} == {magic}
    assert of("batch", found)[-1]["last_offset"] == 4
    flip(path, path.stat().st_size - 1)
    assert of("fault", items(path))


def poisoned(tmp_path, middle):
    """A segment: a batch of two records, what is in the middle, and one of three records from offset 5."""
    path = tmp_path / "00000000000000000000.log"
    first = build_batch([Record(0, 1, b"k", b"a"), Record(1, 1, b"k", b"b")])
    last = build_batch([Record(index, 1, b"k", b"c") for index in range(3)], base_offset=5)
    path.write_bytes(bytes(first) + middle + bytes(last))
    return path


def test_a_batch_that_nobody_can_read_is_passed_and_the_next_offset_told(tmp_path):
    codec, data = NOISE["gzip, noise of 60"]
    poison = batch_of(codec, data, [Record(index, 1, b"k", b"v") for index in range(3)])
    struct.pack_into(">q", poison, 0, 2)  # no checksum covers it
    found = items(poisoned(tmp_path, bytes(poison)))
    [fault] = of("fault", found)
    assert "its records can't be read" in fault["what"]
    assert fault["advice"] == "consumers continue at offset 5"
    assert [item["offset"] for item in of("record", found)] == [0, 1, 5, 6, 7]


@pytest.mark.parametrize("middle", [b"\xff" * 50, b"\2" * 100, bytes(range(256)) * 10, b"\0" * (WINDOW_BYTES + 5)])
def test_bytes_that_are_no_batch_are_skipped_where_that_is_wanted(tmp_path, middle):
    path = poisoned(tmp_path, middle)
    assert [item["offset"] for item in of("record", items(path))] == [0, 1]
    found = items(path, DumpOptions(is_deep=True, skips=True))
    assert [item["offset"] for item in of("record", found)] == [0, 1, 5, 6, 7]
    [fault] = of("fault", found)
    assert fault["what"].startswith(f"{len(middle)} bytes hold no valid batch: ")
    assert fault["advice"] == f"skipped to byte {fault['position'] + len(middle)}"


def test_a_batch_of_earlier_offsets_inside_of_noise_is_not_taken_for_the_next_one(tmp_path):
    inner = bytes(build_batch([Record(0, 1, b"k", b"old")]))
    found = items(poisoned(tmp_path, b"\xff" * 20 + inner + b"\xff" * 7), DumpOptions(is_deep=True, skips=True))
    assert [item["offset"] for item in of("record", found)] == [0, 1, 5, 6, 7]


def test_without_another_batch_the_end_stays_as_it_is(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(build_batch([Record(0, 1, b"k", b"a")])) + b"\xff" * 3_000)
    assert items(path, DumpOptions(is_deep=True, skips=True)) == items(path, DumpOptions(is_deep=True))
