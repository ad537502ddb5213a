"""Hours that ended long ago are dropped, in one commit, and nothing of them comes back."""

import time
from datetime import timedelta

import pyarrow.dataset as ds
import pytest

import headrace
from headrace.ids import TopicPartition
from headrace.load.audit_report import audit
from headrace.load.commits import EXPIRE, LOAD
from headrace.load.compaction import compact
from headrace.load.errors import LoadFenced
from headrace.load.expiring import expire, first_kept
from headrace.load.history import dataset, dead_letters
from headrace.load.rewinding import rewind
from headrace.protocol.record_batch import Record
from headrace.spark.decoding import json
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import HOUR_MS, T0, fill, load_inline, load_until
from tests.load.tables import KINDS, TABLES, Parquet

__all__ = ["icebergs_threads_end"]

STEP_MS = 20 * 60_000  # T0 is at 22:13: three records an hour, the first hour ends before the fourth
NOW_S = (T0 + 40 * STEP_MS) / 1000
SECONDS_KEPT = NOW_S - (T0 + 30 * STEP_MS) / 1000  # the cutoff is the time of record 30, at 08:13: hours before 08 go
FIRST_KEPT = next(n for n in range(40) if (T0 + n * STEP_MS) // HOUR_MS == (T0 + 30 * STEP_MS) // HOUR_MS)


def load_all(log, broker, target, rounds=4):
    for _ in range(rounds):
        fill(log, count=10, step_ms=STEP_MS)
        load_inline(broker, target)


def offsets(target):
    return sorted(dataset(target).to_table(columns=["offset"])["offset"].to_pylist())


def live(broker, target):
    found = headrace.table("clicks", history=target, bootstrap_servers=broker.address).read_all()
    return sorted(found["offset"].to_pylist())


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("compacts", [False, True])
def test_old_hours_go_and_the_load_goes_on(log, broker, tmp_path, make, compacts):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    if compacts:
        compact(kind.target())
    would = expire(kind.target(), SECONDS_KEPT, dry_run=True, now_s=NOW_S)
    assert offsets(kind.target()) == [*range(40)]
    done = expire(kind.target(), timedelta(seconds=SECONDS_KEPT), now_s=NOW_S)
    assert done.hours == would.hours
    assert (done.removal.rows, done.removal.files, done.removal.bytes) == (
        would.removal.rows,
        would.removal.files,
        would.removal.bytes,
    )
    assert done.removal.rows == FIRST_KEPT
    assert {one.hour for one in done.hours} == {
        f"2023-11-{14 + n // 24:02d}-{n % 24:02d}" for n in range(22, 22 + len(done.hours))
    }
    expected = [*range(FIRST_KEPT, 40)]
    assert offsets(kind.target()) == live(broker, kind.target()) == expected
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.changes, found.orphans) == ([], [], [])
    assert [one.deleted for one in found.partitions] == [FIRST_KEPT]
    assert load_inline(broker, kind.target()).records == 0
    fill(log, count=5, step_ms=STEP_MS)
    assert load_inline(broker, kind.target()).records == 5
    compact(kind.target())
    assert offsets(kind.target()) == live(broker, kind.target()) == [*expected, *range(40, 45)]
    assert audit(kind.target(), is_deep=True).faults == []
    assert expire(kind.target(), SECONDS_KEPT, now_s=NOW_S).removal.commit == 0, "nothing is left to drop"


@pytest.mark.parametrize("make", TABLES)
def test_rows_of_others_go_too(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    kind.delete(1)
    kind.delete(35)
    kind.optimize()
    expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)
    expected = sorted({*range(FIRST_KEPT, 40)} - {35})
    assert kind.offsets() == offsets(kind.target()) == live(broker, kind.target()) == expected
    found = audit(kind.target(), is_deep=True)
    assert found.faults == []
    [change] = found.changes
    assert change.loaded - change.present == 1, "of others: offset 35; offset 1 is one of an hour that expired"
    fill(log, count=5, step_ms=STEP_MS)
    load_inline(broker, kind.target())
    assert kind.offsets() == [*expected, *range(40, 45)]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("step", ["rows removed", "manifest written"])
def test_a_load_may_commit_meanwhile_and_the_other_way_round(log, broker, tmp_path, make, step):
    kind = make(tmp_path)
    load_all(log, broker, kind.target(), 3)
    done = []

    def load_once(name):
        if name == step and not done:
            done.append(name)
            load_all(log, broker, kind.target(), 1)

    expire(kind.target(load_once), SECONDS_KEPT, now_s=NOW_S)
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 40)]

    def expire_once(name):
        if name == "tasks done" and len(done) == 1:
            done.append(name)
            expire(kind.target(), SECONDS_KEPT - 3600, now_s=NOW_S)

    fill(log, count=5, step_ms=STEP_MS)
    assert load_inline(broker, kind.target(expire_once)).records == 5
    found = offsets(kind.target())
    assert found[-1] == 44
    assert found == [*range(found[0], 45)]
    assert found[0] == FIRST_KEPT + 3
    snapshot = kind.target().read()
    assert (audit(kind.target()).faults, snapshot.next_offsets()) == ([], {("clicks", 0): 45})


@pytest.mark.parametrize("make", KINDS)
def test_a_merge_meanwhile_has_it_begin_again(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    done = []

    def compact_once(name):
        if name == "rows removed" and not done:
            done.append(name)
            compact(kind.target())

    expire(kind.target(compact_once), SECONDS_KEPT, now_s=NOW_S)
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 40)]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


@pytest.mark.parametrize("make", KINDS)
def test_a_merge_that_began_before_does_not_bring_rows_back(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())

    def expire_meanwhile(name):
        if name == "merged":
            expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)

    with pytest.raises(LoadFenced):
        compact(kind.target(expire_meanwhile))
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 40)]
    assert audit(kind.target()).orphans == []


@pytest.mark.parametrize("make", TABLES)
def test_a_merge_that_began_before_a_deletion_by_others_does_not_bring_rows_back(log, broker, tmp_path, make):
    kind = make(tmp_path)
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, kind.target())

    def delete_meanwhile(name):
        if name == "merged":
            kind.delete(7)

    with pytest.raises(LoadFenced):
        compact(kind.target(delete_meanwhile))
    assert kind.offsets() == offsets(kind.target()) == sorted({*range(30)} - {7})


@pytest.mark.parametrize("make", TABLES)
def test_a_rewind_that_began_before_a_deletion_by_others_leaves_no_row_twice(log, broker, tmp_path, make):
    kind = make(tmp_path)
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, kind.target())
    done = []

    def delete_once(name):
        if name == "manifest written" and not done:
            done.append(name)
            kind.delete(17)

    with pytest.raises(LoadFenced):
        rewind("clicks", kind.target(delete_once), 15, bootstrap_servers=broker.address)
    rewind("clicks", kind.target(), 15, bootstrap_servers=broker.address)
    load_inline(broker, kind.target())
    assert kind.offsets() == [*range(30)]


@pytest.mark.parametrize("make", KINDS)
def test_what_expired_is_loaded_again_after_a_rewind_and_counted_once(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)
    rewind("clicks", kind.target(), 10, bootstrap_servers=broker.address)
    assert [one.count() for one in kind.target().read().deleted] == [(10, 0)]
    load_inline(broker, kind.target())
    assert offsets(kind.target()) == [*range(10, 40)]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, [(one.records, one.deleted) for one in found.partitions]) == ([], [(40, 10)])
    expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 40)]
    assert audit(kind.target(), is_deep=True).faults == []


@pytest.mark.process
@pytest.mark.parametrize("step", ["rows removed", "manifest written", "manifest linked", "manifest synced"])
def test_one_that_dies_leaves_all_or_nothing(log, broker, tmp_path, step):
    import os

    from tests.load.loading import DIED

    kind = Parquet(tmp_path)
    load_all(log, broker, kind.target())
    pid = os.fork()
    if pid == 0:
        try:
            expire(kind.target(lambda name: os._exit(DIED) if name == step else None), SECONDS_KEPT, now_s=NOW_S)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == DIED
    is_done = step in ("manifest linked", "manifest synced")
    assert offsets(kind.target()) == [*range(FIRST_KEPT if is_done else 0, 40)]
    load_inline(broker, kind.target())
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])
    expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 40)]
    assert not load_until(broker, kind.target, step="none")


@pytest.mark.parametrize("make", KINDS)
def test_dead_letters_of_these_hours_go_and_rows_without_a_time_stay(log, broker, tmp_path, make):
    kind = make(tmp_path)
    values = [b'{"page": "x"}', b"bad"]
    log.append(
        TopicPartition("clicks", 0),
        [Record(i, T0 + i * STEP_MS if i != 5 else 2**62, b"k", values[i % 2]) for i in range(40)],
    )
    load_inline(broker, kind.target(), decode=json("page string"), decode_mode="dead", bad_times="null")
    done = expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)
    assert done.removal.dead_letters == sum(one.dead_letters for one in done.hours) > 0
    kept = sorted(dead_letters(kind.target()).to_table()["offset"].to_pylist())
    assert kept == [5, *(n for n in range(FIRST_KEPT, 40) if n % 2)]
    assert offsets(kind.target()) == [n for n in range(FIRST_KEPT, 40) if n % 2 == 0]
    assert audit(kind.target(), is_deep=True).faults == []


def test_a_commit_says_what_it_deleted_and_an_epoch_is_that_of_loads(log, broker, tmp_path):
    target = Parquet(tmp_path).target()
    load_all(log, broker, target)
    before = target.read()
    expire(target, SECONDS_KEPT, now_s=NOW_S)
    after = target.read()
    assert (after.epoch, after.number, after.offsets) == (before.epoch, before.number + 1, before.offsets)
    assert (LOAD, EXPIRE) == ("load", "expire")
    assert (
        ds.dataset([str(target.root / one) for one in after.files], partitioning=None).count_rows() == 40 - FIRST_KEPT
    )


@pytest.mark.parametrize("given", [-1, float("inf"), timedelta(seconds=-1), float("nan")])
def test_times_that_are_none_are_refused(given):
    with pytest.raises(ValueError, match="older_than"):
        first_kept(given, 0)


def test_an_hour_that_ends_at_the_cutoff_goes():
    assert first_kept(0, 3600.0) == 1
    assert first_kept(0, 3599.9) == 0


@pytest.mark.parametrize("make", KINDS)
def test_a_load_that_keeps_so_much_drops_the_rest_after_its_commits(log, broker, tmp_path, make):
    kind = make(tmp_path)
    keep_s = time.time() - (NOW_S - SECONDS_KEPT)
    fill(log, count=40, step_ms=STEP_MS)
    done = load_inline(broker, kind.target(), keep_s=keep_s)
    assert (done.records, done.snapshot) == (40, kind.target().read())
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 40)]
    turns = []

    def is_stopped():
        turns.append(kind.target().read().number)
        return len(turns) > 3

    fill(log, count=5, step_ms=STEP_MS)
    load_inline(broker, kind.target(), keep_s=keep_s, every_s=0.001, is_stopped=is_stopped)
    assert offsets(kind.target()) == [*range(FIRST_KEPT, 45)]
    assert audit(kind.target()).faults == []


def test_a_time_to_keep_is_more_than_nothing(log, broker, tmp_path):
    with pytest.raises(ValueError, match="keep_s 0"):
        load_inline(broker, tmp_path / "out", keep_s=0)
