"""Rows deleted by a condition, in one commit: from tables of each kind, beside loads, merges and other programs."""

import os

import pyarrow.parquet as pq
import pytest

import headrace
from headrace.load import deleting
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.deleting import delete
from headrace.load.errors import BrokenTarget, DamagedFile, LoadFenced
from headrace.load.history import dataset, dead_letters
from headrace.load.parquet_target import ParquetTarget
from headrace.load.rewinding import rewind
from headrace.spark.decoding import json
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import DIED, HOUR_MS, fill, load_inline
from tests.load.tables import KINDS, TABLES, Delta, Iceberg, Parquet

__all__ = ["icebergs_threads_end"]

EVERY_THIRD = '"offset" % 3 = 1'
KEPT = [n for n in range(30) if n % 3 != 1]


def load_all(log, broker, target, rounds=3):
    for _ in range(rounds):
        fill(log, count=10, step_ms=HOUR_MS // 4)
        load_inline(broker, target)


def offsets(target):
    return sorted(dataset(target).to_table(columns=["offset"])["offset"].to_pylist())


def live(broker, target):
    found = headrace.table("clicks", history=target, bootstrap_servers=broker.address).read_all()
    return sorted(found["offset"].to_pylist())


def check(target, deleted):
    found = audit(target, is_deep=True)
    assert (found.faults, found.changes, found.orphans) == ([], [], [])
    assert sum(one.deleted for one in found.partitions) == deleted


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("compacts", [False, True])
def test_rows_go_types_stay_and_the_load_goes_on(log, broker, tmp_path, make, compacts):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    if compacts:
        compact(kind.target())
    schema = dataset(kind.target()).schema
    before = dataset(kind.target()).to_table()
    would = delete(kind.target(), EVERY_THIRD, dry_run=True, bootstrap_servers=broker.address)
    assert (would.removal.rows, would.removal.commit, offsets(kind.target())) == (10, 0, [*range(30)])
    done = delete(kind.target(), EVERY_THIRD, bootstrap_servers=broker.address)
    assert done.partitions == would.partitions
    assert [(one.rows, one.dead_letters, one.in_log) for one in done.partitions] == [(10, 0, 10)]
    assert (done.removal.rows, done.removal.commit) == (10, kind.target().read().number)
    assert dataset(kind.target()).schema == schema
    after = dataset(kind.target()).to_table()
    assert after.sort_by("offset") == before.filter([n % 3 != 1 for n in before["offset"].to_pylist()]).sort_by(
        "offset"
    )
    assert live(broker, kind.target()) == KEPT
    check(kind.target(), 10)
    assert delete(kind.target(), EVERY_THIRD).removal.commit == 0, "nothing is left to delete"
    fill(log, count=5)
    assert load_inline(broker, kind.target()).records == 5
    compact(kind.target())
    assert offsets(kind.target()) == live(broker, kind.target()) == [*KEPT, *range(30, 35)]
    check(kind.target(), 10)


@pytest.mark.parametrize("make", TABLES)
def test_other_readers_see_it_too_and_rows_of_others_go(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    kind.delete(7)
    kind.delete(8)
    delete(kind.target(), f"{EVERY_THIRD} and topic = 'clicks'")
    expected = sorted({*KEPT} - {7, 8})
    assert kind.offsets() == offsets(kind.target()) == live(broker, kind.target()) == expected
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, [one.loaded - one.present for one in found.changes]) == ([], [2])
    kind.optimize()
    delete(kind.target(), '"offset" < 6')
    assert kind.offsets() == offsets(kind.target()) == [n for n in expected if n >= 6]
    assert audit(kind.target(), is_deep=True).faults == []
    load_all(log, broker, kind.target(), 1)
    assert kind.offsets() == [*(n for n in expected if n >= 6), *range(30, 40)]


def test_deltas_history_calls_it_a_delete(log, broker, tmp_path):
    kind = Delta(tmp_path)
    load_all(log, broker, kind.target(), 1)
    delete(kind.target(), EVERY_THIRD)
    assert kind.table.history(1)[0]["operation"] == "DELETE"
    kind.table.alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(BrokenTarget, match=r"delta\.appendOnly"):
        delete(kind.target(), "true")
    fill(log, count=1)
    assert load_inline(broker, kind.target()).records == 1


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("step", ["rows removed", "manifest written"])
def test_a_load_may_commit_meanwhile(log, broker, tmp_path, make, step):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    done = []

    def load_once(name):
        if name == step and not done:
            done.append(name)
            load_all(log, broker, kind.target(), 1)

    assert delete(kind.target(load_once), EVERY_THIRD).removal.rows == 10
    assert offsets(kind.target()) == [*KEPT, *range(30, 40)], "what came meanwhile was not asked"
    check(kind.target(), 10)
    assert kind.target().read().next_offsets() == {("clicks", 0): 40}


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("operation", ["delete", "optimize"])
@pytest.mark.parametrize("step", ["rows removed", "manifest written", "table commit made"])
def test_others_meanwhile_have_it_begin_again(log, broker, tmp_path, make, operation, step):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    done = []

    def change_once(name):
        if name == step and not done:
            done.append(name)
            kind.delete(9)
            if operation == "optimize":
                kind.optimize()

    delete(kind.target(change_once), EVERY_THIRD)
    assert kind.offsets() == offsets(kind.target()) == [n for n in KEPT if n != 9]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


@pytest.mark.parametrize("make", KINDS)
def test_one_that_is_always_overtaken_ends(log, broker, tmp_path, make, monkeypatch):
    kind = make(tmp_path)
    monkeypatch.setattr("headrace.load.row_removal.LOAD_UPKEEP_TRIES_MAX", 2)
    load_all(log, broker, kind.target())

    def always(name):
        if name == "rows removed":
            load_all(log, broker, kind.target(), 2)
            compact(kind.target())

    with pytest.raises(LoadFenced):
        delete(kind.target(always), EVERY_THIRD)
    assert offsets(kind.target()) == [*range(70)]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


@pytest.mark.parametrize("step", ["rows removed", "manifest written", "table commit made", "table committed"])
@pytest.mark.parametrize("make", KINDS)
def test_a_step_that_fails_leaves_all_or_nothing(log, broker, tmp_path, make, step):
    kind = make(tmp_path)
    step = (
        {"table commit made": "manifest written", "table committed": "manifest linked"}.get(step, step)
        if (make is Parquet)
        else step
    )
    load_all(log, broker, kind.target())

    def fails(name):
        if name == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delete(kind.target(fails), EVERY_THIRD)
    is_done = step in ("table committed", "manifest linked")
    assert offsets(kind.target()) == (KEPT if is_done else [*range(30)])
    load_inline(broker, kind.target())
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])
    delete(kind.target(), EVERY_THIRD)
    assert offsets(kind.target()) == KEPT


@pytest.mark.process
@pytest.mark.parametrize("step", ["rows removed", "manifest written", "manifest linked", "manifest synced"])
def test_one_that_is_killed_leaves_all_or_nothing(log, broker, tmp_path, step):
    kind = Parquet(tmp_path)
    load_all(log, broker, kind.target())
    pid = os.fork()
    if pid == 0:
        try:
            delete(kind.target(lambda name: os._exit(DIED) if name == step else None), EVERY_THIRD)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == DIED
    is_done = step in ("manifest linked", "manifest synced")
    assert offsets(kind.target()) == (KEPT if is_done else [*range(30)])
    load_inline(broker, kind.target())
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


@pytest.mark.parametrize("make", KINDS)
def test_dead_letters_go_where_the_condition_names_kafkas_columns(log, broker, tmp_path, make):
    kind = make(tmp_path)
    fill(log, count=6, value=b'{"page": "x%d"}')
    fill(log, count=6, value=b"bad %d")
    load_inline(broker, kind.target(), decode=json("page string"), decode_mode="dead")
    done = delete(kind.target(), "page = 'x1'")
    assert (done.reads_dead_letters, done.removal.rows) == (False, 1)
    done = delete(kind.target(), '"offset" in (2, 7)')
    assert (done.reads_dead_letters, done.removal.rows, done.removal.dead_letters) == (True, 1, 1)
    assert sorted(dead_letters(kind.target()).to_table()["offset"].to_pylist()) == [6, 8, 9, 10, 11]
    assert offsets(kind.target()) == [0, 3, 4, 5]
    check(kind.target(), 3)
    done = delete(kind.target(), "key = 'k' and \"offset\" > 9")
    assert (done.removal.rows, done.removal.dead_letters, done.removal.files) == (0, 2, 1), "dead letters alone"
    check(kind.target(), 5)
    rewind("clicks", kind.target(), 2, bootstrap_servers=broker.address)
    load_inline(broker, kind.target(), decode=json("page string"), decode_mode="dead")
    assert offsets(kind.target()) == [0, 2, 3, 4, 5], "what the log has comes back"
    check(kind.target(), 1)


def test_files_without_such_rows_are_left_and_most_not_read(log, broker, tmp_path, monkeypatch):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target)
    before = target.read().files
    read = []
    parts = deleting._parts
    monkeypatch.setattr(deleting, "_parts", lambda *given: read.append(given) or parts(*given))
    assert delete(target, '"offset" = 25').removal.files == 1
    assert len(read) == 1 < len(before)
    assert len(before.keys() & target.read().files.keys()) == len(before) - 1
    assert offsets(target) == [n for n in range(30) if n != 25]


def test_a_column_that_came_later_is_null_before(log, broker, tmp_path):
    target = ParquetTarget(tmp_path / "out")
    fill(log, count=3, value=b'{"ms": %d}')
    load_inline(broker, target, decode=json("ms long"), decode_mode="dead")
    fill(log, count=3, value=b'{"ms": %d, "page": "x"}')
    load_inline(broker, target, decode=json("ms long, page string"), decode_mode="dead")
    delete(target, "page is null and ms > 0")
    assert offsets(target) == [0, 3, 4, 5]
    delete(target, "true")
    assert offsets(target) == []
    check(target, 6)


def test_a_file_that_is_damaged_or_gone_is_no_row_that_is_deleted(log, broker, tmp_path):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target, 1)
    path = target.root / sorted(target.read().files)[0]
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises((DamagedFile, OSError)):
        delete(target, '"offset" = 1')
    path.unlink()
    with pytest.raises(FileNotFoundError):
        delete(target, '"offset" = 1')
    assert target.read().number == 1


def test_checkpoints_have_what_was_deleted_and_a_commit_without_it_is_as_before(log, broker, tmp_path):
    target = ParquetTarget(tmp_path / "out", checkpoint_every=2)
    load_all(log, broker, target, 1)
    assert "deleted" not in (target.control / "00000000000000000001.json").read_text()
    delete(target, EVERY_THIRD)
    load_all(log, broker, target, 2)
    fresh = ParquetTarget(tmp_path / "out")
    assert [one.count() for one in fresh.read().deleted] == [(3, 0)]
    assert fresh.read() == target.read()
    check(fresh, 3)


def test_a_file_that_a_merge_and_a_cleaning_took_meanwhile_is_looked_for_again(log, broker, tmp_path, monkeypatch):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target)
    mask, done = deleting.RowsWhere._mask, []

    def merged_meanwhile(*given):
        if not done:
            done.append(given)
            compact(target, retired_s=0)
        return mask(*given)

    monkeypatch.setattr(deleting.RowsWhere, "_mask", merged_meanwhile)
    assert delete(ParquetTarget(tmp_path / "out"), EVERY_THIRD).removal.rows == 10
    assert offsets(target) == KEPT
    check(target, 10)


def test_conditions_are_checked_before_anything_is_read(tmp_path, log, broker):
    target = ParquetTarget(tmp_path / "out")
    with pytest.raises(ValueError, match="nothing was loaded"):
        delete(target, "true")
    load_all(log, broker, target, 1)
    with pytest.raises(ValueError, match="nosuch"):
        delete(target, "nosuch = 1")


def test_icebergs_readers_pass_over_nothing_of_what_stays(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    load_all(log, broker, kind.target())
    delete(kind.target(), EVERY_THIRD)
    rows = kind.table.scan(row_filter="offset >= 20").to_arrow()
    assert sorted(rows["offset"].to_pylist()) == [n for n in KEPT if n >= 20]
    for file in kind.table.inspect.files().to_pylist():
        assert pq.read_metadata(file["file_path"].removeprefix("file://")).num_rows == file["record_count"]
