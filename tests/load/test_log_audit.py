"""The audit against the log: what is missing is explained or lost, and what was not compared is said."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from headrace.client.cluster import Cluster
from headrace.ids import TopicPartition
from headrace.load import log_audit
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.deleting import delete
from headrace.load.expiring import expire
from headrace.load.parquet_target import ParquetTarget
from headrace.load.rewinding import rewind
from headrace.protocol.record_batch import Record
from headrace.spark import decoding
from tests.load.iceberg_threads import icebergs_threads_end
from tests.load.loading import T0, fill, load_inline
from tests.load.tables import KINDS, TABLES, Delta, Parquet
from tests.load.test_expiring import FIRST_KEPT, NOW_S, SECONDS_KEPT, STEP_MS

__all__ = ["icebergs_threads_end"]


@pytest.fixture
def policies(monkeypatch):
    """What the cluster says of cleanup.policy."""
    said = {"clicks": "delete"}
    monkeypatch.setattr(log_audit, "_policies", lambda _cluster, _topics: said)
    return said


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    monkeypatch.setattr(log_audit, "WINDOW", 7)


def load_all(log, broker, target, rounds=4, **given):
    for _ in range(rounds):
        fill(log, count=10, step_ms=STEP_MS)
        load_inline(broker, target, **given)


def counts(one):
    shown = {name: value for name, value in vars(one).items() if name not in ("topic", "partition", "start", "end")}
    return {name: value for name, value in shown.items() if value}


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("is_deep", [False, True])
def test_what_agrees_says_what_was_compared(log, broker, tmp_path, policies, make, is_deep):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    fill(log, partition=1, count=3)
    load_inline(broker, kind.target())
    fill(log, count=5)
    found = audit(kind.target(), is_deep, broker.address)
    assert found.faults == []
    assert [(str(one), counts(one)) for one in found.log] == [
        ("clicks-0 0..40", {"records": 40, "rows": 40}),
        ("clicks-1 0..3", {"records": 3, "rows": 3}),
    ]
    what = "offsets, keys and values" if is_deep else "offsets"
    assert f"{what} clicks-0 0..40 with the log" in found.compared
    assert found.uncompared == (
        [] if is_deep else ["the bytes of the files (--deep)", "keys and values of the log (--deep)"]
    )
    assert found.verdict.startswith("all agree; compared: commits, with ")
    alone = audit(kind.target())
    assert alone.log == []
    assert alone.uncompared == ["the bytes of the files (--deep)", "the log (--bootstrap-servers)"]
    assert "not compared: the bytes of the files (--deep); the log (--bootstrap-servers)" in alone.verdict


@pytest.mark.parametrize("make", KINDS)
def test_deletions_of_ours_are_known_offset_by_offset(log, broker, tmp_path, policies, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    expire(kind.target(), SECONDS_KEPT, now_s=NOW_S)
    delete(kind.target(), '"offset" in (35, 37)')
    compact(kind.target())
    found = audit(kind.target(), True, broker.address)
    assert found.faults == []
    [one] = found.log
    assert counts(one) == {"records": 40, "rows": 38 - FIRST_KEPT, "deleted": FIRST_KEPT + 2}
    rewind("clicks", kind.target(), 36, bootstrap_servers=broker.address)
    load_inline(broker, kind.target())
    [one] = audit(kind.target(), True, broker.address).log
    assert counts(one) == {"records": 40, "rows": 39 - FIRST_KEPT, "deleted": FIRST_KEPT + 1}


@pytest.mark.parametrize("make", TABLES)
def test_deletions_by_others_are_told_from_ours_and_from_losses(log, broker, tmp_path, policies, make):
    kind = make(tmp_path)
    load_all(log, broker, kind.target())
    kind.delete(7)
    kind.delete(22)
    delete(kind.target(), '"offset" = 23')
    found = audit(kind.target(), True, broker.address)
    [one] = found.log
    assert (found.faults, counts(one)) == (
        [],
        {"records": 40, "rows": 37, "deleted": 1, "deleted_by_others": 2},
    )
    assert found.verdict.startswith("other programs changed rows, the rest agrees")


@pytest.mark.parametrize("make", KINDS)
def test_a_file_that_is_gone_from_the_disk_is_a_loss_with_its_offsets(log, broker, tmp_path, policies, make):
    kind = make(tmp_path)
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, kind.target())
    [lost] = (one for one in kind.target().read().files.values() if one.start == 10)
    (kind.target().root / lost.path).unlink()
    found = audit(kind.target(), False, broker.address)
    [one] = found.log
    assert counts(one) == {"records": 30, "rows": 20, "lost": 10}
    assert any("10 records LOST" in fault and "offsets 10..19" in fault for fault in found.faults)
    assert found.verdict.startswith("FAULTS: ")


def test_rows_that_are_gone_from_a_file_and_from_its_manifest_are_a_loss(log, broker, tmp_path, policies):
    """Whoever edits the commit too leaves counts that agree: the log does not."""
    target = ParquetTarget(tmp_path / "out")
    fill(log, count=10)
    load_inline(broker, target)
    [path] = target.root.glob("topic=*/hour=*/*.parquet")
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(rows.filter([n not in (3, 4, 8) for n in range(10)]), path)
    from headrace.load.committed_rows import checksum_of

    [commit] = target.control.glob("0*.json")
    text = json.loads(commit.read_text())
    size, checksum = checksum_of(path)
    text["added"][0] |= {"rows": 7, "bytes": size, "checksum": checksum}
    text["ranges"][0]["rows"] = 7
    text["audit"][0][2] = 7
    commit.write_text(json.dumps(text))
    assert audit(ParquetTarget(target.root), True).faults == []
    found = audit(ParquetTarget(target.root), True, broker.address)
    assert found.faults == [
        "clicks-0: 3 records LOST: they were loaded, the log has them, and the table lacks them, although nothing"
        " deleted them: offsets 3..4, 8"
    ]


def test_values_that_changed_are_found_in_depth(log, broker, tmp_path, policies):
    target = ParquetTarget(tmp_path / "out")
    fill(log, count=10)
    load_inline(broker, target)
    [path] = target.root.glob("topic=*/hour=*/*.parquet")
    rows = pq.read_table(path, partitioning=None)
    values = rows["value"].to_pylist()
    values[4] = None
    index = rows.schema.get_field_index("value")
    pq.write_table(rows.set_column(index, "value", pa.array(values, pa.binary())), path)
    assert not any("another key" in one for one in audit(target, False, broker.address).faults)
    found = audit(target, True, broker.address)
    assert "clicks-0: 1 rows have another key or value than the log: offsets 4" in found.faults


def test_dead_letters_and_gaps_are_no_losses(log, broker, tmp_path, policies):
    target = ParquetTarget(tmp_path / "out")
    name = TopicPartition("clicks", 0)
    log.append(name, [Record(i, T0, b"k", b"bad" if i % 3 else b'{"page": "x"}') for i in range(9)])
    load_inline(broker, target, decode=decoding.json("page string"), decode_mode="dead")
    found = audit(target, True, broker.address)
    assert (found.faults, counts(found.log[0])) == ([], {"records": 9, "rows": 3, "dead_letters": 6})


def test_what_the_log_no_longer_has_is_named_and_not_compared(log, broker, tmp_path, policies):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target, 2)
    log.starts[TopicPartition("clicks", 0)] = 12
    found = audit(target, True, broker.address)
    assert (found.faults, found.uncompared) == ([], ["clicks-0 0..12: no longer in the log"])
    assert str(found.log[0]) == "clicks-0 12..20"
    log.starts[TopicPartition("clicks", 0)] = 20
    found = audit(target, True, broker.address)
    assert (found.log, found.uncompared) == ([], ["clicks-0 0..20: no longer in the log"])


def test_a_log_that_was_cut_is_a_fault(log, broker, tmp_path, policies):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target, 2)
    log.cut(TopicPartition("clicks", 0), 10)
    found = audit(target, True, broker.address)
    assert "clicks-0: the table was loaded up to 20, the log ends at 10: it was truncated" in found.faults


@pytest.mark.parametrize(("policy", "is_fault"), [("compact", False), ("delete", True), ("", False)])
def test_rows_that_the_log_lacks_are_explained_by_compaction_alone(
    log, broker, tmp_path, policies, monkeypatch, policy, is_fault
):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target, 1)
    policies["clicks"] = policy
    in_log = log_audit._in_log

    def compacted(part):
        found = in_log(part)
        found[: max(0, 4 - part.start)] = False
        return found

    monkeypatch.setattr(log_audit, "_in_log", compacted)
    found = audit(target, False, broker.address)
    [one] = found.log
    assert (one.extra_compacted, one.extra_unknown) == ((4, 0) if policy == "compact" else (0, 4))
    assert bool(found.faults) is is_fault
    assert any("does not say whether it is compacted" in text for text in found.uncompared) is (policy == "")


def test_records_of_aborted_transactions_are_no_losses(log, broker, tmp_path, policies, monkeypatch):
    target = ParquetTarget(tmp_path / "out")
    load_all(log, broker, target, 1)
    in_log = log_audit._in_log

    def aborted(part):
        found = in_log(part)
        if part.read_committed and part.start == 0:
            found[2:4] = False
        return found

    monkeypatch.setattr(log_audit, "_in_log", aborted)
    assert counts(audit(target, False, broker.address).log[0]) == {"records": 10, "rows": 10}
    fill(log, count=1)
    load_inline(broker, target, read_committed=True)
    found = audit(target, False, broker.address)
    assert (found.faults, counts(found.log[0])) == ([], {"records": 9, "rows": 9, "extra_aborted": 2})
    rewind("clicks", target, 0, bootstrap_servers=broker.address)


def test_rows_that_were_deleted_and_are_there_again_are_a_fault(log, broker, tmp_path, policies):
    kind = Delta(tmp_path)
    load_all(log, broker, kind.target(), 1)
    rows = kind.table.to_pyarrow_table()
    delete(kind.target(), '"offset" = 3')
    write_deltalake(str(kind.path), rows.slice(3, 1), mode="append")
    found = audit(kind.target(), False, broker.address)
    assert "clicks-0: 1 rows that were deleted are in the table again: 3" in found.faults
    write_deltalake(str(kind.path), rows.slice(5, 1), mode="append")
    found = audit(kind.target(), False, broker.address)
    assert "clicks-0: 1 offsets have more than one row: 5" in found.faults


def test_partitions_that_the_cluster_lacks_are_named(log, broker, tmp_path, policies):
    kind = Parquet(tmp_path)
    load_all(log, broker, kind.target(), 1)
    fill(log, topic="views", count=3)
    load_inline(broker, kind.target(), topics="views")
    snapshot = kind.target().read()
    names = {name.topic for name in snapshot.next_offsets()}
    assert names == {"clicks", "views"}
    shutil.rmtree(log.partition_directory(TopicPartition("views", 0)))
    log.ends.pop(TopicPartition("views", 0))
    done = delete(kind.target(), "value = '2'", bootstrap_servers=broker.address)
    assert [(one.topic, one.rows, one.in_log) for one in done.partitions] == [("clicks", 1, 1), ("views", 1, 0)]
    found = audit(kind.target(), False, broker.address)
    assert any(text.startswith("views-0: ") for text in found.uncompared)


def test_a_cluster_that_does_not_say_policies_is_asked_in_vain(broker):
    with Cluster(broker.address) as cluster:
        assert log_audit._policies(cluster, {"clicks"}) == {}
