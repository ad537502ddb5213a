"""Loads into a Delta table: one version a commit, which no other writer can have made."""

import json as json_text

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.delta_target import DeltaTarget, delta_target
from headrace.load.errors import BrokenTarget, LoadFenced, SchemaConflict
from headrace.load.history import dead_letters
from headrace.load.manifest_chain import FULL_EVERY
from headrace.load.rewinding import rewind
from headrace.load.targets import open_target
from headrace.spark.decoding import json
from tests.load.dying_load import load_and_die
from tests.load.loading import HOUR_MS, fill, load_inline, offsets_in

STEPS = ("tasks done", "manifest written", "table commit made", "table committed", "committed")


@pytest.fixture
def table(tmp_path):
    """Makes a target, as another process would."""
    return lambda step=lambda name: None: DeltaTarget(tmp_path / "table", step)


def rows(target):
    """What Delta's own reader sees."""
    return DeltaTable(str(target.root)).to_pyarrow_dataset().to_table()


def test_a_load_is_a_version_that_deltas_reader_sees(log, broker, table, tmp_path):
    fill(log, count=100, step_ms=HOUR_MS // 40)
    fill(log, "views", count=5)
    assert load_inline(broker, open_target(f"delta:{tmp_path}/table"), "clicks|views", records_per_task=30).commits == 1
    found = rows(table())
    assert sorted(found.filter(pa.compute.equal(found["topic"], "clicks"))["offset"].to_pylist()) == [*range(100)]
    assert found["hour"][0].as_py().startswith("2023-11-1")
    assert load_inline(broker, table(), "clicks|views").commits == 0
    fill(log, count=10)
    load_inline(broker, table(), "clicks|views")
    assert offsets_in(table())["clicks", 0] == [*range(110)]
    assert (audit(table(), is_deep=True).faults, audit(table()).orphans) == ([], [])


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_dies_at_a_step_leaves_orphans_or_a_commit(log, broker, table, step):
    fill(log, count=20)
    load_inline(broker, table())
    fill(log, count=30)
    assert load_and_die(broker, table().name, step)
    assert len(rows(table())) == (50 if STEPS.index(step) >= STEPS.index("table committed") else 20)
    load_inline(broker, table())
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(50)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])
    table().sweep_temporary(2**40)
    assert len(list((table().control / "commits").iterdir())) == table().read().number


@pytest.mark.parametrize("step", ["tasks done", "manifest written", "table commit made"])
def test_a_zombie_is_fenced_wherever_it_was_overtaken(log, broker, table, step):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)
    overtaken = []

    def overtake(name):
        if name == step and not overtaken:
            overtaken.append(name)
            load_inline(broker, table())

    with pytest.raises(LoadFenced, match="another loader committed first"):
        load_inline(broker, table(overtake))
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(20)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])


def test_another_writers_version_in_between_is_no_fence(log, broker, table):
    fill(log, count=10)
    load_inline(broker, table())
    fill(log, count=10)
    touched = []

    def touch(name):
        if name == "table commit made" and not touched:
            touched.append(name)
            write_deltalake(str(table().root), rows(table()).slice(0, 1), mode="append")

    load_inline(broker, table(touch))
    assert sorted(rows(table())["offset"].to_pylist()) == [0, *range(20)]
    assert offsets_in(table())["clicks", 0] == [0, *range(20)], "what the table has, whoever wrote it"


def test_columns_come_do_not_widen_and_dead_letters_are_beside_the_table(log, broker, table):
    fill(log, count=3, value=b'{"ms": %d}')
    load_inline(broker, table(), decode=json("ms int"))
    with pytest.raises(SchemaConflict, match="can't widen int32 to int64"):
        load_inline(broker, table(), decode=json("ms long"))
    fill(log, count=3, value=b'{"ms": %d, "page": "x"}')
    fill(log, count=1, value=b"bad %d")
    load_inline(broker, table(), decode=json("ms int, page string"), decode_mode="dead")
    found = rows(table()).sort_by("offset")
    assert found["ms"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert found["page"].to_pylist() == [None] * 3 + ["x"] * 3
    assert dead_letters(table()).to_table()["offset"].to_pylist() == [6]
    assert audit(table()).faults == []


def test_small_files_are_merged_and_a_table_goes_back(log, broker, table):
    for _ in range(3):
        fill(log, count=10)
        load_inline(broker, table())
    compact(table())
    assert len(DeltaTable(str(table().root)).file_uris()) == 1
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(30)]
    fill(log, count=10)
    load_inline(broker, table())
    rewind("clicks", table(), 33, bootstrap_servers=broker.address)
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(33)]
    load_inline(broker, table())
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(40)]
    assert (audit(table()).faults, audit(table()).orphans) == ([], [])


def test_offsets_survive_checkpoints_of_both_kinds(log, broker, table):
    for _ in range(FULL_EVERY + 3):
        fill(log, count=1)
        load_inline(broker, table())
    assert offsets_in(table())["clicks", 0] == [*range(FULL_EVERY + 3)]
    assert list((table().root / "_delta_log").glob("*.checkpoint.parquet"))
    for version in range(FULL_EVERY):
        (table().root / "_delta_log" / f"{version:020d}.json").unlink()
    fill(log, count=1)
    assert load_inline(broker, table()).records == 1
    assert sorted(rows(table())["offset"].to_pylist()) == [*range(FULL_EVERY + 4)]


def test_other_tables_are_refused(log, broker, table, tmp_path):
    fill(log)
    write_deltalake(str(tmp_path / "table"), pa.table({"a": [1]}))
    with pytest.raises(BrokenTarget, match="is partitioned by nothing: a load needs topic, hour"):
        load_inline(broker, table())
    version = tmp_path / "table" / "_delta_log" / f"{0:020d}.json"
    actions = [json_text.loads(line) for line in version.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["partitionColumns"] = ["topic", "hour"]
        if "protocol" in action:
            action["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["columnMapping"],
                "writerFeatures": ["columnMapping"],
            }
    version.write_text("".join(json_text.dumps(action) + "\n" for action in actions))
    with pytest.raises(BrokenTarget):
        load_inline(broker, table())
    with pytest.raises(ValueError, match="expected delta:DIRECTORY"):
        delta_target("s3://bucket/x")
