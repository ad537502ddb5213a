"""Tables whose own history no longer goes back to a load: snapshots that expired, versions that were cleaned."""

import datetime as dt

import pytest
from deltalake import DeltaTable
from pyiceberg.expressions import AlwaysTrue, EqualTo, GreaterThanOrEqual

from headrace.load.audit_report import audit
from headrace.load.errors import BrokenTarget
from headrace.load.lost_history import ACCEPTED
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import fill, load_inline
from tests.load.test_maintained_tables import Delta, Iceberg, live_offsets

__all__ = ["icebergs_threads_end"]


def expire(table):
    """All snapshots but the current one, as a nightly job leaves it."""
    later = dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(minutes=1)
    table.maintenance.expire_snapshots().older_than(later).commit()


def loaded(log, broker, kind, loads):
    for _ in range(loads):
        fill(log, count=10)
        load_inline(broker, kind.target())


def commit_names(kind):
    return sorted(path.name for path in (kind.target().root / "_headrace" / "commits").glob("*.json"))


@pytest.mark.parametrize("deletes", [1, 3])
def test_snapshots_that_expire_leave_the_offsets(log, broker, tmp_path, deletes):
    kind = Iceberg(tmp_path)
    loaded(log, broker, kind, 2)
    gone = [*range(7, 7 + deletes)]
    for offset in gone:
        kind.table.delete(EqualTo("offset", offset))
    expire(kind.table)
    expected = [one for one in range(20) if one not in gone]
    assert live_offsets(broker, kind) == expected
    assert load_inline(broker, kind.target()).records == 0
    loaded(log, broker, kind, 1)
    assert kind.offsets() == [*expected, *range(20, 30)]
    assert (audit(kind.target(), is_deep=True).faults, audit(kind.target()).orphans) == ([], [])


def test_rows_that_were_all_rewritten_say_it_too(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    loaded(log, broker, kind, 2)
    for _ in range(2):
        kind.optimize()
    expire(kind.table)
    loaded(log, broker, kind, 1)
    assert kind.offsets() == [*range(30)]


def test_a_rollback_before_the_expiry_is_refused_until_its_commit_is_named(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    loaded(log, broker, kind, 1)
    snapshot = kind.table.current_snapshot().snapshot_id
    loaded(log, broker, kind, 1)
    kind.table.manage_snapshots().rollback_to_snapshot(snapshot).commit()
    kind.table.delete(EqualTo("offset", 7))
    expire(kind.table)
    with pytest.raises(BrokenTarget, match=f"no row of the last load .* set its property {ACCEPTED}"):
        load_inline(broker, kind.target())
    with kind.table.transaction() as transaction:
        transaction.set_properties({ACCEPTED: commit_names(kind)[0]})
    assert load_inline(broker, kind.target()).records == 10
    assert kind.offsets() == [one for one in range(20) if one != 7]
    assert ACCEPTED not in kind.table.properties


def test_a_rollback_to_another_programs_snapshot_is_before_the_later_loads(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    loaded(log, broker, kind, 1)
    kind.table.delete(EqualTo("offset", 7))
    snapshot = kind.table.current_snapshot().snapshot_id
    loaded(log, broker, kind, 2)
    kind.table.manage_snapshots().rollback_to_snapshot(snapshot).commit()
    expire(kind.table)
    assert live_offsets(broker, kind) == [one for one in range(30) if one != 7]
    assert load_inline(broker, kind.target()).records == 20
    assert kind.offsets() == [one for one in range(30) if one != 7]


def test_a_table_that_was_emptied_is_not_a_new_one(log, broker, tmp_path):
    kind = Iceberg(tmp_path)
    loaded(log, broker, kind, 2)
    kind.table.delete(GreaterThanOrEqual("offset", 5))
    kind.table.delete(AlwaysTrue())
    expire(kind.table)
    with pytest.raises(BrokenTarget, match="it has no row of the last load"):
        load_inline(broker, kind.target())


def cleaned(kind):
    """Without the files of the versions before the last one, as log retention leaves it."""
    kind.table.create_checkpoint()
    for path in sorted((kind.path / "_delta_log").glob("*[0-9].json"))[:-1]:
        path.unlink()


def test_versions_that_were_cleaned_leave_the_offsets(log, broker, tmp_path):
    kind = Delta(tmp_path)
    loaded(log, broker, kind, 2)
    kind.delete()
    kind.optimize()
    cleaned(kind)
    loaded(log, broker, kind, 1)
    assert kind.offsets() == [one for one in range(30) if one != 7]
    assert audit(kind.target(), is_deep=True).faults == []


def test_a_restore_whose_version_was_cleaned_is_refused_until_its_commit_is_named(log, broker, tmp_path):
    kind = Delta(tmp_path)
    loaded(log, broker, kind, 1)
    version = kind.table.version()
    loaded(log, broker, kind, 1)
    kind.table.restore(version)
    kind.delete()
    cleaned(kind)
    with pytest.raises(BrokenTarget, match=f"no row of the last load .* set its property {ACCEPTED}"):
        load_inline(broker, kind.target())
    DeltaTable(str(kind.path)).alter.set_table_properties({ACCEPTED: commit_names(kind)[0]}, raise_if_not_exists=False)
    assert load_inline(broker, kind.target()).records == 10
    assert kind.offsets() == [one for one in range(20) if one != 7]
    assert ACCEPTED not in kind.table.metadata().configuration
