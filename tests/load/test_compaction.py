"""Small files merged in one commit, while others read and load; a table taken back."""

import itertools
import random
from pathlib import Path

import pytest

from headrace.ids import TopicPartition
from headrace.load.audit_report import audit
from headrace.load.commits import DataFile, Snapshot
from headrace.load.compaction import SMALL_BYTES, compact, ripe
from headrace.load.errors import DamagedFile, LoadFenced, OutOfRange
from headrace.load.history import dataset, dead_letters, files
from headrace.load.parquet_target import ParquetTarget
from headrace.load.rewinding import rewind
from headrace.protocol.record_batch import Record
from headrace.spark.decoding import json
from tests.load.loading import HOUR_MS, T0, fill, load_inline, load_until, offsets_in


def filled(log, broker, path, times=4, **given):
    for _ in range(times):
        fill(log, count=10)
        load_inline(broker, path, **given)
    return path


def test_small_files_become_one_in_the_order_of_offsets(log, broker, tmp_path):
    path = filled(log, broker, tmp_path / "out", records_per_task=4)
    before = files(path)
    snapshot = compact(path)
    assert len(before) == 12
    assert len(files(path)) == 1
    assert dataset(path).to_table()["offset"].to_pylist() == [*range(40)]
    found = audit(path, is_deep=True)
    assert (found.faults, found.orphans, found.records) == ([], [], 40)
    assert len(snapshot.retired) == 12
    assert dataset_rows(before) == 40
    assert compact(path).number == snapshot.number
    compact(path, retired_s=0)
    with pytest.raises(FileNotFoundError):
        dataset_rows(before)


def dataset_rows(paths):
    import pyarrow.dataset as ds

    return ds.dataset(paths, partitioning=None).to_table().num_rows


def test_files_of_before_a_column_came_are_merged_with_later_ones_and_dead_letters_apart(log, broker, tmp_path):
    path = tmp_path / "out"
    for schema in ("ms int", "ms long, page string"):
        fill(log, count=3, value=b'{"ms": %d, "page": "x"}')
        fill(log, count=1, value=b"bad %d")
        load_inline(broker, path, decode=json(schema), decode_mode="dead")
    compact(path)
    assert len(files(path)) == 1
    assert dead_letters(path).to_table()["offset"].to_pylist() == [3, 7]
    assert dataset(path).to_table()["page"].to_pylist() == [None] * 3 + ["x"] * 3
    assert audit(path).faults == []


def test_a_load_may_commit_while_files_are_merged_and_the_other_way_round(log, broker, tmp_path):
    path = filled(log, broker, tmp_path / "out")

    def load_meanwhile(step):
        if step == "merged":
            filled(log, broker, path, 1)

    compact(ParquetTarget(path, load_meanwhile))
    assert offsets_in(path)["clicks", 0] == [*range(50)]
    assert len(files(path)) == 2

    def compact_meanwhile(step):
        if step == "tasks done":
            compact(path)

    fill(log, count=10)
    load_inline(broker, ParquetTarget(path, compact_meanwhile))
    assert offsets_in(path)["clicks", 0] == [*range(60)]
    assert len(files(path)) == 2
    assert audit(path).faults == []
    assert audit(path).orphans == []


def test_a_round_that_fails_leaves_what_a_merge_replaced_to_its_readers(log, broker, tmp_path):
    target, before = ParquetTarget(tmp_path / "out"), []
    fill(log, count=10)

    def fails_after_a_merge():
        snapshot = target.read()
        if snapshot.retired:
            raise RuntimeError("a round fails")
        if snapshot.number == 1 and not before:
            before.extend(files(target))
            fill(log, count=10)
        return False

    with pytest.raises(RuntimeError):
        load_inline(broker, target, every_s=0.01, compact_every=2, is_stopped=fails_after_a_merge)
    assert dataset_rows(before) == 10
    assert offsets_in(target)["clicks", 0] == [*range(20)]
    compact(target, retired_s=0)
    assert not Path(before[0]).exists()


def damage(path):
    """One byte of a value changes on the disk."""
    data = bytearray(Path(path).read_bytes())
    data[data.index(b"value-3")] ^= 32
    Path(path).write_bytes(data)


def test_a_file_that_was_changed_is_not_merged_and_the_audit_still_finds_it(log, broker, tmp_path):
    path = tmp_path / "out"
    for _ in range(2):
        for partition in range(2):
            fill(log, partition=partition, count=10, value=b"value-%d")
        load_inline(broker, path, compression="none")
    damage(files(path)[0])
    before = audit(path, is_deep=True).faults
    assert len(before) == 1
    with pytest.raises(DamagedFile, match=r"clicks-0-0-10.* were committed"):
        compact(path)
    assert len(files(path)) == 3, "those of the other partition are merged"
    assert audit(path, is_deep=True).faults == before
    assert audit(path).orphans == []


def test_a_loader_merges_around_a_file_that_was_changed_and_says_so_once(log, broker, tmp_path, caplog):
    path, target = tmp_path / "out", ParquetTarget(tmp_path / "out")
    fill(log, count=10, value=b"value-%d")
    load_inline(broker, path, compression="none")
    damage(files(path)[0])

    def stops_after_six():
        fill(log, count=10)
        return target.read().epoch >= 6

    load_inline(broker, path, every_s=0.01, compact_every=2, is_stopped=stops_after_six)
    assert len(files(path)) == 2, "it, and what came after it"
    assert [one.levelname for one in caplog.records if "are not merged" in one.message] == ["ERROR"]
    assert len(audit(path, is_deep=True).faults) == 1


def test_files_that_were_taken_back_meanwhile_are_not_merged(log, broker, tmp_path):
    path = filled(log, broker, tmp_path / "out")

    def rewind_meanwhile(step):
        if step == "merged":
            rewind("clicks", path, 15, bootstrap_servers=broker.address)

    with pytest.raises(LoadFenced):
        compact(ParquetTarget(path, rewind_meanwhile))
    assert offsets_in(path)["clicks", 0] == [*range(15)]
    assert audit(path).orphans == []


@pytest.mark.process
@pytest.mark.parametrize("step", ["merged", "manifest written", "manifest linked", "manifest synced"])
def test_a_loader_that_dies_while_it_merges_loses_nothing(log, broker, tmp_path, step):
    path = filled(log, broker, tmp_path / "out", 2)
    fill(log, count=10)
    seen = []

    def target(at):
        """Dies at the step of the second commit, which merges."""

        def counted(name):
            seen.append(name)
            if name == step and (name == "merged" or seen.count(name) == 2):
                at(name)

        return ParquetTarget(path, counted)

    assert load_until(broker, target, step, compact_every=1)
    assert offsets_in(path)["clicks", 0] == [*range(30)]
    load_inline(broker, path, compact_every=1)
    assert offsets_in(path)["clicks", 0] == [*range(30)]
    assert audit(path).faults == []
    assert audit(path).orphans == []


def test_a_table_goes_back_to_an_offset_and_is_loaded_again(log, broker, tmp_path):
    path = filled(log, broker, tmp_path / "out")
    fill(log, "views", count=5)
    load_inline(broker, path, "views")
    found = rewind("clicks", path, 25, bootstrap_servers=broker.address)
    assert found == {TopicPartition("clicks", 0): 25}
    assert offsets_in(path) == {("clicks", 0): [*range(25)], ("views", 0): [*range(5)]}
    assert (audit(path, is_deep=True).faults, audit(path).orphans) == ([], [])
    assert load_inline(broker, path).records == 15
    assert offsets_in(path)["clicks", 0] == [*range(40)]
    assert audit(path).faults == []
    assert rewind("clicks", path, 99, bootstrap_servers=broker.address) == {}
    with pytest.raises(ValueError, match="no matching topic was loaded"):
        rewind("nope", path, 0, bootstrap_servers=broker.address)


def test_what_the_log_no_longer_has_is_not_taken_back(log, broker, tmp_path):
    path = filled(log, broker, tmp_path / "out")
    compact(path)
    log.starts[TopicPartition("clicks", 0)] = 12
    with pytest.raises(OutOfRange, match="clicks-0 would go back to 7, the log begins at 12"):
        rewind("clicks", path, 7, bootstrap_servers=broker.address)
    assert offsets_in(path)["clicks", 0] == [*range(40)]


def test_a_merged_file_that_spans_the_logs_start_is_split(log, broker, tmp_path):
    """Records of an odd hour, and dead letters, of many loads are one file: it begins where the log no longer does."""
    path = tmp_path / "out"
    name = TopicPartition("clicks", 0)
    for number in range(6):
        good = Record(1, T0 + number * HOUR_MS, b"k", b'{"ms": %d}' % number)
        log.append(name, [Record(0, 0, b"k", b'{"ms": 0}'), good, Record(2, T0, b"k", b"bad")])
        load_inline(broker, path, decode=json("ms long"), decode_mode="dead")
    compact(path)
    log.starts[name] = 7
    assert rewind("clicks", path, 10, bootstrap_servers=broker.address) == {name: 10}
    assert dead_letters(path).to_table()["offset"].to_pylist() == [2, 5, 8]
    assert offsets_in(path)["clicks", 0] == [0, 1, 3, 4, 6, 7, 9]
    assert (audit(path, is_deep=True).faults, audit(path).orphans) == ([], [])
    assert rewind("clicks", path, "earliest", bootstrap_servers=broker.address) == {name: 7}
    load_inline(broker, path, decode=json("ms long"), decode_mode="dead")
    assert offsets_in(path)["clicks", 0] == [offset for offset in range(18) if offset % 3 != 2]
    assert (audit(path, is_deep=True).faults, audit(path).orphans) == ([], [])


@pytest.mark.parametrize("cut", [30, 25, 20, 8])
def test_a_table_goes_back_behind_a_gap_that_a_merged_file_spans(log, broker, tmp_path, cut):
    path = filled(log, broker, tmp_path / "out", 1)
    name = fill(log, count=20)
    log.starts[name] = 20
    fill(log, count=10)
    load_inline(broker, path, out_of_range="earliest")
    compact(path)
    filled(log, broker, path, 1, out_of_range="earliest")
    log.starts[name] = 0
    rewind("clicks", path, cut, bootstrap_servers=broker.address)
    assert audit(path, is_deep=True).faults == []
    load_inline(broker, path)
    assert audit(path, is_deep=True).faults == []
    assert offsets_in(path)["clicks", 0] == [*range(10), *range(20 if cut > 10 else 10, 50)]


def test_a_table_goes_back_to_before_a_file_that_was_changed(log, broker, tmp_path):
    path = tmp_path / "out"
    for _ in range(3):
        fill(log, count=10, value=b"value-%d")
        load_inline(broker, path, compression="none")
    Path(files(path)[1]).write_bytes(b"no longer")
    name = TopicPartition("clicks", 0)
    log.starts[name] = 5
    assert rewind("clicks", path, 15, bootstrap_servers=broker.address) == {name: 10}
    load_inline(broker, path)
    assert offsets_in(path)["clicks", 0] == [*range(30)]
    assert audit(path, is_deep=True).faults == []


def test_the_audit_finds_files_that_were_changed(log, broker, tmp_path):
    path = filled(log, broker, tmp_path / "out", 3, compression="none")
    first, second, third = files(path)
    data = bytearray(Path(first).read_bytes())
    data[8] ^= 1
    Path(first).write_bytes(data)
    Path(second).write_bytes(Path(third).read_bytes())
    assert {fault.partition(": ")[2] for fault in audit(path, is_deep=True).faults} >= {
        "its checksum is not the one that was committed"
    }
    Path(third).write_bytes(Path(third).read_bytes() + b"x")
    found = audit(path)
    assert any("bytes, " in fault for fault in found.faults)
    assert any("offsets (20, 29)" in fault for fault in found.faults)
    Path(first).unlink()
    assert any("is missing" in fault for fault in audit(path).faults)
    assert any("records were committed, the files have" in fault for fault in audit(path).faults)


@pytest.mark.parametrize("size", [4 << 10, 25 << 10, 1 << 20])
def test_a_loader_keeps_files_few_and_rewrites_each_record_a_few_times(size):
    dice = random.Random(5)
    files, rewritten = {}, 0
    for number in range(2_000):
        for partition in (0, 1):
            new = data_file(number, number + 1, dice.randint(size // 2, size), partition)
            files[new.path] = new
        for run in ripe(Snapshot(files=files), 16):
            assert len({one.partition for one in run}) == 1
            assert all(one.end == after.start for one, after in itertools.pairwise(run))
            for one in run:
                del files[one.path]
            merged = data_file(run[0].start, run[-1].end, sum(one.bytes for one in run), run[0].partition)
            files[merged.path] = merged
            rewritten += merged.bytes
        small = [one for one in files.values() if one.bytes < SMALL_BYTES]
        assert len(small) <= 2 * 4 * 16
    assert sum(one.end - one.start for one in files.values()) == 2 * 2_000
    assert rewritten <= 4 * sum(one.bytes for one in files.values())


def data_file(start, end, size, partition):
    path = f"{partition}-{start}-{end}.parquet"
    return DataFile(path, "clicks", "id", partition, "2026-11-26T00", start, end, end - start, size, start, end - 1, 0)
