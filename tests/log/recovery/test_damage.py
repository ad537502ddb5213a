"""Damaged files of every kind: what is below the damage is served, nothing false is, and the log opens and goes on."""

import os
import random

import pytest

from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.reading.reader import LogReader
from headrace.log.state.checkpoints import (
    BadCheckpoint,
    read_leader_epochs,
    read_offset_checkpoint,
    read_partition_metadata,
    write_leader_epochs,
    write_offset_checkpoint,
)
from headrace.protocol.record_batch import parse_header
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import CountingDisk, batch

pytestmark = pytest.mark.slow

CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=300)


def written(maker, count=60, config=CONFIG, epochs=4, is_closed=False):
    log = maker.open(config)
    for number in range(count):
        one = batch(1 + number % 3, producer_id=7, producer_epoch=0, base_sequence=0, timestamp_ms=NOW_MS + 10 * number)
        one[53:57] = log.log_end_offset.to_bytes(4, "big")  # base sequence
        one[17:21] = __import__("crc32c").crc32c(one[21:]).to_bytes(4, "big")
        assert log.append_as_leader([one], number * epochs // count, NOW_MS)[0][0] == 0
    log.close() if is_closed else log.abandon()
    return log


def files(maker, suffix):
    return sorted(maker.directory.glob(f"*{suffix}"))


def contents(maker):
    return {path.name: path.read_bytes() for path in maker.directory.iterdir()}


def restore(maker, saved):
    for path in maker.directory.iterdir():
        path.unlink()
    for name, data in saved.items():
        (maker.directory / name).write_bytes(data)


def found_offsets(log, offsets):
    """The offsets whose look-up leads to the batch that holds them."""
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    good = []
    for offset in offsets:
        found = reader.locate(offset, 1 << 20, log.end_segment, log.end_position, True)
        header = parse_header(os.pread(found.fd, found.length, found.position))
        if header.base_offset <= offset <= header.last_offset:
            good.append(offset)
    return good


def trimmed(data, entry_bytes):
    while data[-entry_bytes:] == bytes(entry_bytes):
        data = data[:-entry_bytes]
    return data


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_rebuilt_indexes_are_those_that_were_written(maker, suffix):
    written(maker)
    entry_bytes = 8 if suffix == ".index" else 12
    before = {path.name: trimmed(path.read_bytes(), entry_bytes) for path in files(maker, suffix)}
    assert sum(map(len, before.values())) > 10 * entry_bytes
    for path in files(maker, suffix):
        path.unlink()
    log = maker.open(CONFIG)
    log.abandon()
    assert {path.name: trimmed(path.read_bytes(), entry_bytes) for path in files(maker, suffix)} == before


@pytest.mark.parametrize("is_clean", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_in_offset_indexes_hide_no_record(maker, seed, is_clean):
    chance = random.Random(seed)
    end = written(maker, is_closed=is_clean).log_end_offset
    saved = contents(maker)
    for _ in range(25):
        path = chance.choice(files(maker, ".index"))
        data = bytearray(path.read_bytes())
        if not data:
            continue
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        log = maker.open(CONFIG, clean=is_clean)
        assert log.log_end_offset == end
        assert found_offsets(log, range(end)) == list(range(end)), f"seed {seed}"
        log.abandon()
        restore(maker, saved)


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bits_in_time_indexes_are_gone_after_an_unclean_stop(maker, seed):
    chance = random.Random(seed)
    written(maker).abandon()
    maker.open(CONFIG).abandon()
    before = {path.name: trimmed(path.read_bytes(), 12) for path in files(maker, ".timeindex")}
    for _ in range(20):
        path = chance.choice(files(maker, ".timeindex"))
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        maker.open(CONFIG).abandon()
        assert {path.name: trimmed(path.read_bytes(), 12) for path in files(maker, ".timeindex")} == before


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits_in_a_log_leave_a_prefix(maker, seed):
    chance = random.Random(seed)
    written(maker)
    saved = contents(maker)
    bounds = {}
    for path in files(maker, ".log"):
        data, position = path.read_bytes(), 0
        while position < len(data):
            header = parse_header(data, position)
            bounds.setdefault(path.name, []).append((position, header.base_offset))
            position += header.size_bytes
    for _ in range(40):
        path = chance.choice(files(maker, ".log"))
        data = bytearray(path.read_bytes())
        place = chance.randrange(len(data))
        position, base_offset = max(one for one in bounds[path.name] if one[0] <= place)
        is_stamp = place - position < 8 or 12 <= place - position < 16
        data[place] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        log = maker.open(CONFIG)
        if not is_stamp:  # base offset and leader epoch are not under the checksum
            assert log.log_end_offset == base_offset, f"seed {seed} byte {place} of {path.name}"
        assert log.append_as_leader([batch()], 9, NOW_MS)[0][0] == 0
        log.abandon()
        restore(maker, saved)


@pytest.mark.parametrize("tail", [bytes(70), bytes(5000), b"\xff" * 900, random.Random(3).randbytes(3000)])
@pytest.mark.parametrize("size", [0, 1, 60, 61, 100])
def test_every_file_may_end_in_rubbish(maker, tail, size):
    end = written(maker).log_end_offset
    for path in [
        *files(maker, ".log")[-1:],
        *files(maker, ".index"),
        *files(maker, ".timeindex"),
        *files(maker, ".snapshot"),
    ]:
        with open(path, "ab") as file:
            file.write(tail[size:])
    log = maker.open(CONFIG)
    assert log.log_end_offset == end
    assert found_offsets(log, range(end)) == list(range(end))


def test_a_tail_torn_at_every_byte_is_cut_also_with_indexes_and_producers(maker):
    config = LogConfig(index_interval_bytes=100)
    written(maker, 6, config)
    saved = contents(maker)
    path = files(maker, ".log")[-1]
    data, position = path.read_bytes(), 0
    starts = []
    while position < len(data):
        header = parse_header(data, position)
        starts.append((position, header.base_offset))
        position += header.size_bytes
    last_position, last_offset = starts[-1]
    for size in range(last_position, len(data)):
        for how in ({}, {"trusted": (0, last_position)}):
            restore(maker, saved)
            path.write_bytes(data[:size])
            log = maker.open(config, **how)
            assert (log.log_end_offset, log.end_position) == (last_offset, last_position), size
            assert log.producers.producers[7].batches[-1].last_offset == last_offset - 1
            log.abandon()


def test_only_what_lies_behind_the_recovery_point_is_read(maker):
    written(maker)
    bases = [int(path.stem) for path in files(maker, ".log")]
    read = []
    log = maker.open(CONFIG, recovery_point=bases[-2], progress=read.append)
    sizes = [path.stat().st_size for path in files(maker, ".log")]
    assert sum(read) == sum(sizes[-2:])
    log.abandon()


@pytest.mark.parametrize(
    "damage", ["missing", b"", b"0\n", b"0\n2\n0 0\n1 5\n2 9\n", b"0\n2\n0 40\n1 5\n", b"\xff\xfe", b"1\n0\n"]
)
def test_lost_leader_epochs_are_told_by_the_batches(maker, damage):
    log = written(maker, is_closed=True)
    wanted = log.epochs.entries
    assert len(wanted) == 4
    path = maker.directory / "leader-epoch-checkpoint"
    path.unlink() if damage == "missing" else path.write_bytes(damage)
    again = maker.open(CONFIG, clean=True)
    assert again.epochs.entries == wanted
    again.abandon()
    assert read_leader_epochs(path) == wanted


@pytest.mark.parametrize("how", [{}, {"recovery_point": 30}], ids=["all", "point"])
def test_lost_leader_epochs_cost_no_second_pass_over_what_is_recovered(maker, how):
    wanted = written(maker).epochs.entries
    (maker.directory / "leader-epoch-checkpoint").unlink()
    index_bytes = sum(path.stat().st_size for path in maker.directory.glob("*index"))
    maker.disk = CountingDisk()
    log = maker.open(CONFIG, **how)
    log.abandon()
    assert log.epochs.entries == wanted
    assert read_leader_epochs(maker.directory / "leader-epoch-checkpoint") == wanted
    assert maker.disk.read_bytes - index_bytes <= log.size_bytes + sum(1 for _ in files(maker, ".log")) * 200


def test_checkpoints_are_read_whole_or_refused(tmp_path):
    path = tmp_path / "recovery-point-offset-checkpoint"
    offsets = {TopicPartition("a-topic", number): number * 1000 for number in range(5)}
    write_offset_checkpoint(path, offsets)
    data = path.read_bytes()
    assert read_offset_checkpoint(path) == offsets
    for size in range(len(data) - 5):  # the last number can lose digits, which nothing tells
        path.write_bytes(data[:size])
        try:
            found = read_offset_checkpoint(path)
        except BadCheckpoint:
            continue
        assert found == {}, size
    for place in range(len(data)):
        for bit in range(8):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
            try:
                assert all(offset >= 0 for offset in read_offset_checkpoint(path).values())
            except HeadraceError:
                pass


def test_a_flipped_bit_in_the_epochs_file_never_breaks_the_order(tmp_path):
    path = tmp_path / "leader-epoch-checkpoint"
    write_leader_epochs(path, [(0, 0), (3, 17), (4, 170), (9, 230)])
    data = path.read_bytes()
    for place in range(len(data)):
        for bit in range(8):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
            try:
                entries = read_leader_epochs(path)
            except BadCheckpoint:
                continue
            assert entries == sorted(entries)
            assert [start for _epoch, start in entries] == sorted(start for _epoch, start in entries)


def test_an_index_of_any_size_under_its_bound_rolls_in_time(maker):
    for entries in (2, 3, 7):
        for spare in range(12):
            maker.directory = maker.directory.parent / f"t-{entries}-{spare}"
            config = LogConfig(index_interval_bytes=1, index_bytes_max=12 * entries + spare)
            log = maker.open(config)
            for number in range(40):
                log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
            log.close()
            sizes = [path.stat().st_size for path in [*files(maker, ".timeindex"), *files(maker, ".index")]]
            assert max(sizes) <= config.index_bytes_max
            assert len(files(maker, ".log")) > 40 // (entries + 2)
            log = maker.open(config, clean=True)
            assert found_offsets(log, range(40)) == list(range(40))
            log.abandon()


@pytest.mark.parametrize(
    "name",
    [
        "0.log",
        "x.log",
        ".log",
        "99999999999999999999.log",
        f"{2**63 - 1:020d}.log",
        "\u00b2" * 20 + ".log",
        "\u0660" * 20 + ".log",
        "x.log.swap",
        "\u00b2\u00b2.index",
        "\u00b2\u00b2.snapshot",
        "99999999999999999999.snapshot",
    ],
)
@pytest.mark.parametrize("is_clean", [False, True])
def test_files_whose_names_are_no_offsets_are_none_of_the_logs(maker, name, is_clean):
    before = written(maker, is_closed=True)
    (maker.directory / name).write_bytes(b"who put this here")
    log = maker.open(CONFIG, clean=is_clean)
    assert log.log_end_offset == before.log_end_offset
    assert log.append_as_leader([batch()], 9, NOW_MS)[0][0] == 0
    log.close()


@pytest.mark.parametrize(
    "text",
    [
        "0\n\u00b2\n0 0\n",
        "0\n" + "9" * 5_000 + "\n",
        "0\n1\n0 99999999999999999999\n",
        "0\n1\n4294967296 0\n",
        "0\n1\n1_0 0\n",
        "0\n1\n0 " + "9" * 5_000 + "\n",
    ],
)
def test_numbers_that_no_offset_or_epoch_can_be_are_refused(maker, text):
    path = maker.directory.parent / "checkpoint"
    path.write_text(text)
    with pytest.raises(BadCheckpoint):
        read_leader_epochs(path)
    path.write_text(
        text.replace("\n0 ", "\nt 0 ").replace("\n1_0 ", "\nt 1_0 ").replace("\n4294967296 ", "\nt 4294967296 ")
    )
    with pytest.raises(BadCheckpoint):
        read_offset_checkpoint(path)
    before = written(maker, is_closed=True)
    (maker.directory / "leader-epoch-checkpoint").write_text(text)
    log = maker.open(CONFIG, clean=True)
    assert log.log_end_offset == before.log_end_offset
    assert log.epochs.entries == [(0, 0), (1, 30), (2, 60), (3, 90)]


@pytest.mark.parametrize("topic_id", ["", "QUJD", "AAAAAAAAAAAAAAAAAAAAAAA", "not base64!"])
def test_a_topic_id_that_is_none_is_no_other_topics(tmp_path, topic_id):
    path = tmp_path / "partition.metadata"
    path.write_text(f"version: 0\ntopic_id: {topic_id}\n")
    assert read_partition_metadata(path) == ""


def test_an_index_that_points_before_its_segment_is_made_anew(maker):
    before = written(maker, is_closed=True)
    path = files(maker, ".index")[-1]
    data = path.read_bytes()
    path.write_bytes(b"".join(data[at : at + 4] + b"\x80\0\0\0" for at in range(0, len(data), 8)))
    log = maker.open(CONFIG, clean=True)
    assert log.log_end_offset == before.log_end_offset
    assert trimmed(path.read_bytes(), 8) == data


def test_a_first_header_that_is_damaged_behind_a_clean_stop_opens(maker):
    written(maker, is_closed=True)
    path = files(maker, ".log")[-1]
    with open(path, "r+b") as file:
        file.seek(16)
        file.write(b"\x7f")  # the magic
    log = maker.open(CONFIG, clean=True)
    assert log.append_as_leader([batch()], 9, NOW_MS)[0][0] == 0
    log.close()
