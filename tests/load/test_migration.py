"""Tables of earlier versions, migrated: the log named their files otherwise, and their dead letters lay where a VACUUM removes them."""

from urllib.parse import quote

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from headrace.load import data_files, delta_actions
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.delta_target import DeltaTarget
from headrace.load.history import dataset, dead_letters
from headrace.load.migration import Migrated, migrate
from headrace.load.parquet_target import ParquetTarget
from headrace.load.target import DEAD_LETTERS
from headrace.spark.decoding import json
from tests.load.loading import fill, load_inline


@pytest.fixture
def as_earlier(monkeypatch):
    """Paths as 90b9db79 wrote them."""

    def folder_of(topic, hour, is_bad):
        folder = f"topic={topic}/hour={hour}"
        return f"{DEAD_LETTERS}/{folder}" if is_bad else folder

    from headrace.load import hour_files

    with monkeypatch.context() as patched:
        patched.setattr(delta_actions, "path_text", quote)
        patched.setattr(hour_files, "folder_of", folder_of)
        patched.setattr(data_files, "folder_of", folder_of)
        yield patched


def load_both(log, broker, target):
    fill(log, count=10, value=b'{"ms": %d}')
    fill(log, count=1, value=b"bad %d")
    load_inline(broker, target, decode=json("ms int"), decode_mode="dead")


def texts(path):
    return pa.table(DeltaTable(str(path)).get_add_actions(flatten=True))["path"].to_pylist()


def test_a_delta_table_is_migrated_once_and_maintained_then(log, broker, tmp_path, as_earlier):
    path = tmp_path / "table"
    for _ in range(2):
        load_both(log, broker, DeltaTarget(path))
    assert all("topic%3Dclicks" in text for text in texts(path))
    as_earlier.undo()
    assert migrate(DeltaTarget(path)) == Migrated(2, 2)
    assert migrate(DeltaTarget(path)) == Migrated(0, 0)
    assert all(text.startswith("topic=clicks/hour=") for text in texts(path))
    DeltaTable(str(path)).delete('"offset" = 3')
    DeltaTable(str(path)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    assert dead_letters(DeltaTarget(path)).to_table()["offset"].to_pylist() == [10, 21]
    expected = sorted({*range(22)} - {3, 10, 21})
    assert sorted(dataset(DeltaTarget(path)).to_table()["offset"].to_pylist()) == expected
    load_both(log, broker, DeltaTarget(path))
    found = audit(DeltaTarget(path), is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


def test_without_migration_a_merge_removes_files_as_the_log_spells_them(log, broker, tmp_path, as_earlier):
    path = tmp_path / "table"
    for _ in range(2):
        load_both(log, broker, DeltaTarget(path))
    as_earlier.undo()
    compact(DeltaTarget(path))
    assert len(texts(path)) == 1
    assert DeltaTable(str(path)).to_pyarrow_table().num_rows == 20


def test_of_a_directory_the_dead_letters_move(log, broker, tmp_path, as_earlier):
    target = ParquetTarget(tmp_path / "table")
    load_both(log, broker, target)
    as_earlier.undo()
    assert migrate(target) == Migrated(0, 1)
    assert dead_letters(target).to_table()["offset"].to_pylist() == [10]
    assert audit(target, is_deep=True).faults == []
    assert migrate(ParquetTarget(tmp_path / "other")) == Migrated(0, 0)
