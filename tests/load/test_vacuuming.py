"""The bytes of what was deleted go, and nothing that a kept version, a loader or an open commit needs."""

import os
import time
from datetime import timedelta

import pytest

from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.deleting import delete
from headrace.load.errors import BrokenTarget
from headrace.load.history import dataset, dead_letters
from headrace.load.vacuuming import REST, vacuum
from headrace.spark.decoding import json
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import fill, load_inline
from tests.load.tables import KINDS, TABLES, Delta, Iceberg, Parquet
from tests.load.test_orphans import leave

__all__ = ["icebergs_threads_end"]

SECRET = b"secret-%d"
DAY_S = 86_400.0


def load_all(log, broker, target, rounds=3, **given):
    for _ in range(rounds):
        fill(log, count=4, value=b'{"page": "%d"}')
        fill(log, count=1, value=SECRET)
        load_inline(broker, target, **given)


def with_secrets(root):
    """Files below a directory that have the bytes, as Parquet without dictionaries or compression has them."""
    return sorted(
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and b"secret-" in path.read_bytes()
    )


def offsets(target):
    return sorted(dataset(target).to_table(columns=["offset"])["offset"].to_pylist())


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("has_letters", [False, True])
def test_bytes_of_deleted_rows_are_gone(log, broker, tmp_path, make, has_letters):
    kind = make(tmp_path)
    given = {"decode": json("page string"), "decode_mode": "dead"} if has_letters else {}
    load_all(log, broker, kind.target(), compression="none", **given)
    root = kind.target().root
    assert len(with_secrets(root)) == 3
    compact(kind.target())
    done = delete(kind.target(), '"offset" % 5 = 4')
    assert (done.removal.rows, done.removal.dead_letters) == ((0, 3) if has_letters else (3, 0))
    assert with_secrets(root)
    assert vacuum(kind.target(), now_s=time.time() + 3600).files == 0, "not yet"
    later_s = time.time() + 8 * DAY_S
    would = vacuum(kind.target(), now_s=later_s, dry_run=True) if make is not Delta else None
    if make is Delta:  # its VACUUM goes by the clock
        done = vacuum(kind.target(), 0, force=True)
    else:
        done = vacuum(kind.target(), timedelta(days=7), now_s=later_s)
        assert would.files >= done.files > 0
    assert with_secrets(root) == []
    assert offsets(kind.target()) == [n for n in range(15) if n % 5 != 4]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])
    load_all(log, broker, kind.target(), 1, **given)
    compact(kind.target())
    assert len(offsets(kind.target())) == (16 if has_letters else 17)
    assert audit(kind.target(), is_deep=True).faults == []
    assert dead_letters(kind.target()).count_rows() == (1 if has_letters else 0)


@pytest.mark.parametrize("make", KINDS)
def test_too_short_a_time_needs_force(log, broker, tmp_path, make):
    kind = make(tmp_path)
    least_s = 3600 if make is Parquet else 7 * DAY_S
    load_all(log, broker, kind.target(), 1)
    with pytest.raises(ValueError, match="force allows it"):
        vacuum(kind.target(), least_s - 1)
    vacuum(kind.target(), least_s)
    vacuum(kind.target(), 0, force=True)
    with pytest.raises(ValueError, match="0 or more"):
        vacuum(kind.target(), -1, force=True)
    assert len(offsets(kind.target())) == 5


@pytest.mark.parametrize("make", TABLES)
def test_what_a_loader_writes_and_is_about_to_commit_stays(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    compact(kind.target())
    done = []

    def vacuum_meanwhile(name):
        if name in ("tasks done", "manifest written", "table commit made") and name not in done:
            done.append(name)
            vacuum(kind.target(), 0, force=True)

    load_all(log, broker, kind.target(vacuum_meanwhile), 1)
    assert set(done) == {"tasks done", "manifest written", "table commit made"}
    assert offsets(kind.target()) == [*range(20)]
    found = audit(kind.target(), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


@pytest.mark.parametrize("make", TABLES)
def test_what_a_killed_deletion_left_of_files_of_others_goes(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    kind.delete(1)
    kind.optimize()

    def fails(name):
        if name == "rows removed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delete(kind.target(fails), '"offset" in (2, 3)')
    delete(kind.target(), '"offset" in (2, 3)')
    rests = {path for path in kind.target().root.rglob("part-*.parquet") if REST.match(path.name)}
    live = {kind.target().root / one.path for one in kind.target().read().others}
    assert rests & live
    assert rests - live
    vacuum(kind.target(), 0, force=True)
    assert all(path.exists() for path in rests), "a day has to pass: another program may be about to commit"
    for path in rests:
        os.utime(path, (0, 0))
    vacuum(kind.target(), 0, force=True)
    assert {path for path in rests if path.exists()} == rests & live
    assert kind.offsets() == [0, *range(4, 15)]


@pytest.mark.parametrize("make", KINDS)
def test_orphans_go_by_their_own_rules(log, broker, tmp_path, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target(), 1)
    folder = kind.target().root / "topic=clicks" / "hour=2023-11-14-22"
    assert folder.is_dir()
    (kind.target().control / "runs" / "aaaaaaaa").write_text("{}")  # of a loader elsewhere
    young, old = leave(kind.target(), "aaaaaaaa"), leave(kind.target(), "aaaaaaaa", 1, age_s=30 * DAY_S)
    vacuum(kind.target())
    assert young.exists()
    assert not old.exists()


def test_versions_of_delta_since_the_cutoff_are_read_with_their_dead_letters(log, broker, tmp_path):
    kind = Delta(tmp_path)
    given = {"decode": json("page string"), "decode_mode": "dead"}
    load_all(log, broker, kind.target(), **given)
    version = kind.table.version()
    compact(kind.target())
    delete(kind.target(), '"offset" < 7')
    vacuum(kind.target())
    kind.table.restore(version)
    assert offsets(kind.target()) == [n for n in range(15) if n % 5 != 4]
    assert dead_letters(kind.target()).count_rows() == 3
    assert audit(kind.target(), is_deep=True).faults == []


def test_what_a_tag_of_iceberg_names_stays(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    load_all(log, broker, kind.target())
    tagged = kind.table.current_snapshot().snapshot_id
    kind.table.manage_snapshots().create_tag(tagged, "kept").commit()
    compact(kind.target())
    delete(kind.target(), '"offset" < 7')
    done = vacuum(kind.target(), now_s=time.time() + 30 * DAY_S)
    assert done.versions == 3
    assert sorted(kind.table.scan(snapshot_id=tagged).to_arrow()["offset"].to_pylist()) == [*range(15)]
    load_inline(broker, kind.target(), grace_s=0.0, retired_s=0.0)
    assert sorted(kind.table.scan(snapshot_id=tagged).to_arrow()["offset"].to_pylist()) == [*range(15)]
    assert kind.offsets() == [*range(7, 15)]


def test_our_last_commit_stays_though_others_committed_since(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    load_all(log, broker, kind.target())
    for offset in (1, 2, 3):
        kind.delete(offset)
    vacuum(kind.target(), now_s=time.time() + 30 * DAY_S)
    assert len(kind.table.snapshots()) == 4
    load_all(log, broker, kind.target(), 1)
    assert kind.offsets() == [0, *range(4, 20)]
    assert audit(kind.target()).faults == []


def test_another_commit_meanwhile_has_it_begin_again(log, broker, tmp_path, monkeypatch):
    kind = Iceberg(tmp_path)
    load_all(log, broker, kind.target())
    compact(kind.target())
    done = []
    forget = kind.target().__class__.forget

    def overtaken(self, table, ids):
        if not done:
            done.append(ids)
            kind.delete(3)
        forget(self, table, ids)

    monkeypatch.setattr(kind.target().__class__, "forget", overtaken)
    vacuum(kind.target(), now_s=time.time() + 30 * DAY_S)
    assert done
    assert kind.offsets() == [0, 1, 2, *range(4, 15)]
    assert audit(kind.target()).faults == []


def test_files_whose_snapshots_are_forgotten_go_with_the_next_vacuum(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    load_all(log, broker, kind.target(), compression="none")
    compact(kind.target())
    delete(kind.target(), '"offset" % 5 = 4')

    def dies(name):
        if name == "snapshots forgotten":
            raise KeyboardInterrupt

    later_s = time.time() + 8 * DAY_S
    with pytest.raises(KeyboardInterrupt):
        vacuum(kind.target(dies), now_s=later_s)
    assert with_secrets(kind.target().root)
    vacuum(kind.target(), now_s=later_s)
    assert [name for name in with_secrets(kind.target().root) if name.endswith(".parquet")] == []
    assert len(offsets(kind.target())) == 12


def test_files_of_earlier_versions_stay_for_time_travel_however_long_ago(log, broker, tmp_path):
    """A load's sweep removes orphans: what a commit named is none, also where the table's state no longer knows it was removed."""
    kind = Delta(tmp_path)
    load_all(log, broker, kind.target())
    version = kind.table.version()
    compact(kind.target())
    commits = sorted((kind.target().control / "commits").iterdir())
    text = commits[-1].read_text()
    at_ms = int(text.split('"at_ms":')[1].split(",")[0])
    commits[-1].write_text(text.replace(f'"at_ms":{at_ms}', f'"at_ms":{at_ms - int(8 * DAY_S * 1000)}'))
    load_all(log, broker, kind.target(), 1)  # its commit forgets what was removed eight days ago
    for path in kind.path.glob("topic=*/hour=*/*"):
        os.utime(path, (0, 0))
    load_all(log, broker, kind.target(), 1)
    kind.table.restore(version)
    assert offsets(kind.target()) == [*range(15)]


def test_delta_refuses_what_its_own_property_forbids(log, broker, tmp_path):
    kind = Delta(tmp_path)
    load_all(log, broker, kind.target())
    kind.table.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 30 days"})
    with pytest.raises(BrokenTarget, match="retention"):
        vacuum(kind.target())


def test_a_table_with_nothing_loaded_has_nothing_to_give_up(tmp_path):
    assert vacuum(Delta(tmp_path).target()).files == 0
