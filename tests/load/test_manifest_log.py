"""The commit log of a directory: one winner for each number, checkpoints, what a late writer finds."""

import os

import pytest

from headrace.load.commits import (
    Change,
    DataFile,
    LoadedRange,
    Snapshot,
    TopicOffsets,
    apply,
    change_from_json,
    change_to_json,
    check_change,
    snapshot_from_json,
    snapshot_to_json,
)
from headrace.load.errors import BrokenTarget, Gap, LoadFenced
from headrace.load.manifest_log import ManifestLog, checkpoint_name, commit_name

DIED = 77


def file_of(start, end, name="a", partition=0, rows=None):
    rows = end - start if rows is None else rows
    path = f"topic=t/hour=h/{name}-{partition}-{start}"
    return DataFile(path, "t", "", partition, "h", start, end, rows, 1, start, end - 1, 0)


def load_of(start, end, name="a", **more):
    ranges = (LoadedRange("t", "", 0, start, end, end - start),) if end > start else ()
    added = (file_of(start, end, name),) if end > start else ()
    return Change(name, 1000, "load", {"t": TopicOffsets("", {0: end})}, ranges, added, **more)


def made(tmp_path, **given):
    log = ManifestLog(tmp_path / "log", **given)
    log.create()
    return log


def test_commits_follow_one_another_and_another_reader_sees_them(tmp_path):
    log = made(tmp_path)
    snapshot = log.append(load_of(0, 10), log.read())
    snapshot = log.append(load_of(10, 15), snapshot)
    assert ManifestLog(tmp_path / "log").read() == snapshot
    assert snapshot.number == 2
    assert snapshot.offsets["t"].next_offsets == {0: 15}
    assert snapshot.ranges == (LoadedRange("t", "", 0, 0, 15, 15),)
    assert snapshot.counts == {("t", "h"): (15, 0)}


def test_of_two_writers_of_one_number_the_second_is_fenced(tmp_path):
    first, second = made(tmp_path), made(tmp_path)
    before = second.read()
    first.append(load_of(0, 10), first.read())
    with pytest.raises(LoadFenced, match="exists: another loader committed first"):
        second.append(load_of(0, 10, "b"), before)
    assert [*second.read().files] == ["topic=t/hour=h/a-0-0"]
    assert not [name for name in os.listdir(tmp_path / "log") if name.endswith(".tmp")]


def test_a_load_and_a_compaction_may_follow_each_other_unless_files_are_gone(tmp_path):
    log, other = made(tmp_path), made(tmp_path)
    both = log.append(load_of(5, 10), log.append(load_of(0, 5), log.read()))
    removed = tuple(both.files)
    merged = Change("c", 2000, "compact", {}, (), (file_of(0, 10, "c"),), removed)
    log.append(merged, both)
    after = other.append(load_of(10, 12), both)  # made for what was before the compaction
    assert [*after.files] == ["topic=t/hour=h/c-0-0", "topic=t/hour=h/a-0-10"]
    assert (after.number, after.epoch) == (4, 3)
    with pytest.raises(LoadFenced):
        other.append(Change("d", 2000, "compact", {}, (), (file_of(0, 10, "d"),), removed), both)
    assert after.offsets["t"].next_offsets == {0: 12}


def test_checkpoints_replace_old_commits_and_a_late_writer_is_fenced_all_the_same(tmp_path):
    log = made(tmp_path, checkpoint_every=3)
    late = made(tmp_path)
    asleep = late.read()
    snapshot = log.read()
    for number in range(8):
        snapshot = log.append(load_of(number, number + 1), snapshot)
    names = sorted(name for name in os.listdir(tmp_path / "log"))
    assert names == [*(commit_name(n) for n in (4, 5, 6, 7, 8)), checkpoint_name(3), checkpoint_name(6)]
    assert ManifestLog(tmp_path / "log").read() == snapshot
    with pytest.raises(LoadFenced, match="was made long ago"):
        late.append(load_of(0, 1, "z"), asleep)
    assert late.read() == snapshot == ManifestLog(tmp_path / "log").read()
    assert sorted(os.listdir(tmp_path / "log")) == names


@pytest.mark.process
@pytest.mark.parametrize(
    "step", ["manifest written", "manifest linked", "manifest synced", "checkpoint written", "checkpoint named"]
)
def test_a_writer_that_dies_at_a_step_leaves_all_of_a_commit_or_nothing(tmp_path, step):
    log = made(tmp_path, checkpoint_every=2)
    before = log.append(load_of(0, 10), log.read())
    pid = os.fork()
    if pid == 0:
        try:
            dying = ManifestLog(
                tmp_path / "log", lambda name: os._exit(DIED) if name == step else None, checkpoint_every=2
            )
            dying.append(load_of(10, 20, "b"), dying.read())
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == DIED
    found = log.read()
    assert found.number == (1 if step == "manifest written" else 2)
    assert ManifestLog(tmp_path / "log").read() == found
    after = log.append(load_of(found.offsets["t"].next_offsets[0], 30, "c"), found)
    assert after.counts == {("t", "h"): (30, 0)}
    assert before.number == 1
    log.sweep_temporary(older_than_s=2**40)
    assert not [name for name in os.listdir(tmp_path / "log") if name.endswith(".tmp")]


def test_a_missing_or_spoilt_commit_is_an_error(tmp_path):
    log = made(tmp_path)
    snapshot = log.read()
    for number in range(3):
        snapshot = log.append(load_of(number, number + 1), snapshot)
    path = tmp_path / "log" / commit_name(2)
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(BrokenTarget, match="is missing, although later commits exist"):
        ManifestLog(tmp_path / "log").read()
    for spoilt, message in (
        (whole[:-10], "is not JSON"),
        (whole.replace(b'"format":1', b'"format":9'), "format 9"),
        (whole.replace(b'"rows":1,', b'"rows":2,'), "counts of a commit"),
        (whole.replace(b'"ranges"', b'"rages"'), "can't be read"),
    ):
        path.write_bytes(spoilt)
        with pytest.raises(BrokenTarget, match=message):
            ManifestLog(tmp_path / "log").read()


def test_values_survive_json():
    change = load_of(0, 10, schema="ab")
    assert change_from_json(change_to_json(change)) == change
    snapshot = apply(Snapshot(), change)
    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot


def test_a_file_is_added_once_and_removed_when_it_is_there():
    snapshot = apply(Snapshot(), load_of(0, 10))
    with pytest.raises(BrokenTarget, match="a second time"):
        apply(snapshot, load_of(0, 10))
    with pytest.raises(BrokenTarget, match="which no commit before it added"):
        apply(snapshot, Change("x", 0, "compact", {}, removed=("nowhere",)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (load_of(9, 20), r"a range 9\.\.20 where 10 is next"),
        (load_of(11, 20), r"a range 11\.\.20 where 10 is next"),
        (Change("x", 0, "load", {"t": TopicOffsets("", {0: 20})}), "the ranges end at 10, the offset to commit is 20"),
        (Change("x", 0, "load", {}, load_of(10, 20).ranges, load_of(10, 20).added), "their offsets are not committed"),
        (
            Change("x", 0, "load", {"t": TopicOffsets("", {0: 20})}, load_of(10, 20).ranges, (file_of(10, 20, rows=9),)),
            "10 records were read, 0 of them bad; the files have 9 and 0",
        ),
        (
            Change("x", 0, "load", {"t": TopicOffsets("", {0: 20})}, load_of(10, 20).ranges, (file_of(10, 20), file_of(0, 5))),
            "belong to no range",
        ),
        (
            Change("x", 0, "load", {"t": TopicOffsets("", {0: 20})}, load_of(10, 20).ranges,
                   (DataFile("p", "t", "", 0, "h", 10, 20, 10, 1, 10, 20, 0),)),
            "outside of its range",
        ),
    ],
)  # fmt: skip
def test_what_does_not_connect_is_not_committed(change, message):
    snapshot = apply(Snapshot(), load_of(0, 10))
    check_change(snapshot, load_of(10, 20))
    with pytest.raises(Gap, match=message):
        check_change(snapshot, change)
