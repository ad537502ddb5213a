"""A Delta table: files, offsets and what they mean in one version, on condition that it is the next one.

    DIR/_delta_log/00000000000000000042.json    add, remove, txn: created by link, which refuses a version that exists
    DIR/_headrace/                              commits (manifest_chain.py), running loaders
    txn "headrace"      version = number of our commit
    txn "headrace-id"   version = the rest of its file's name

Both transaction ids are part of the table's state, checkpoints included, so they outlive the cleaning of old versions. Another writer
of the table makes our link fail, and we try the next version, if no other load came in between: a zombie's append can't pass, which
appends of the usual kind do, since Delta lets two of them succeed.

The table is made by deltalake, partitioned by topic and hour (which is a column here). What else a table may use is in `delta_features.py`.

Source: the Delta transaction log protocol: add, remove, txn, commitInfo; writer version 2.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa

from headrace.load.commits import COMPACT, DELETE, EXPIRE, Change, LiveFile, Snapshot
from headrace.load.delta_actions import (
    add_of,
    add_of_others,
    metadata_of,
    path_text,
    remove_of,
    remove_of_others,
    texts_by_path,
)
from headrace.load.delta_features import DELETION_VECTORS, maps_columns, refused
from headrace.load.delta_history import COMMIT, name_at, names_in
from headrace.load.durable import make_directory, sync_directory, write_synced
from headrace.load.errors import BrokenTarget, LoadFenced, SchemaConflict
from headrace.load.lost_history import ACCEPTED
from headrace.load.manifest_chain import ChainedTarget, Head, Overtaken
from headrace.load.schemas import schema_from_text
from headrace.load.table_columns import is_alike, lacks
from headrace.load.target import Step, no_step

APP = "headrace"
APP_ID = "headrace-id"
PARTITION_COLUMNS = ("topic", "hour")
CHECKPOINT_EVERY = 50
OPERATIONS = {COMPACT: "OPTIMIZE", DELETE: "DELETE", EXPIRE: "DELETE"}  # as Delta's history calls them; else WRITE
APPEND_ONLY = "delta.appendOnly"


class DeltaTarget(ChainedTarget):
    """A table in a directory that all tasks see under the same path."""

    kind = "delta"
    hidden_columns = ("hour",)

    def __init__(self, root: Path, step: Step = no_step) -> None:
        super().__init__(root, f"delta:{root}", step)

    @property
    def _log(self) -> Path:
        return self.root / "_delta_log"

    def prepare(self, schema: pa.Schema) -> None:
        """raises   FileNotFoundError, BrokenTarget"""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if not self.root.parent.is_dir():
            raise FileNotFoundError(f"{self.root.parent} is not a directory: create it first")
        if not self._log.is_dir():
            if self.root.is_dir() and any(self.root.iterdir()):
                raise BrokenTarget(f"{self.root} is not empty and not a Delta table: name a new directory")
            with_hour = schema.append(pa.field("hour", pa.string()))
            try:
                DeltaTable.create(str(self.root), with_hour, mode="ignore", partition_by=list(PARTITION_COLUMNS))
            except DeltaError:  # another loader's first round
                if not DeltaTable.is_deltatable(str(self.root)):
                    raise
        self._check(self._opened())
        make_directory(self.control)

    def _opened(self) -> Any:
        """raises   BrokenTarget"""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return DeltaTable(str(self.root))
        except DeltaError as failure:
            raise BrokenTarget(f"{self.name} can't be read as a Delta table: {failure}") from None

    def table(self) -> Any:
        """As deltalake has it now. raises BrokenTarget"""
        return self._opened()

    def _check(self, table: Any) -> None:
        """raises   BrokenTarget"""
        columns = table.metadata().partition_columns
        if tuple(columns) != PARTITION_COLUMNS:
            raise BrokenTarget(
                f"{self.name} is partitioned by {', '.join(columns) or 'nothing'}: a load needs topic, hour"
            )
        protocol = table.protocol()
        configuration = table.metadata().configuration
        found = refused(
            protocol.min_writer_version, protocol.writer_features or (), configuration, table.schema().to_json()
        )
        if found:
            raise BrokenTarget(f"{self.name} uses {'; '.join(found)}: a load does not write such a table")

    def check_columns(self, was: pa.Schema, becomes: pa.Schema) -> None:
        """raises   SchemaConflict"""
        for field in becomes:
            if field.name in was.names and not is_alike(was.field(field.name).type, field.type):
                raise SchemaConflict(
                    f"column {field.name}: a Delta table of this protocol can't widen {was.field(field.name).type} to {field.type}"
                )
            if pa.types.is_timestamp(field.type) and field.type.tz is None:
                raise SchemaConflict(
                    f"column {field.name}: timestamp without a zone needs more than this version of the protocol"
                )

    def head(self) -> Head:
        if not self._log.is_dir():
            return Head("", None)
        table = self._opened()
        known = name_at(self.root, table.version())
        if known is not None:
            return Head(known, table)
        accepted = table.metadata().configuration.get(ACCEPTED)
        if accepted:
            return Head(accepted, table)
        number, rest = table.transaction_version(APP), table.transaction_version(APP_ID)
        if number is not None:
            return Head(_name(number, rest), table, is_certain=False)
        if any(self._commits.glob("*.json")):
            raise BrokenTarget(
                f"{self.name}: the versions that say what was loaded were cleaned: load to another table"
            )
        return Head("", table)

    def live(self, condition: Any) -> Mapping[str, LiveFile]:
        if maps_columns(condition.metadata().configuration):
            raise BrokenTarget(
                f"{self.name} uses column mapping, so that its files have other names of columns: headrace does not read such a table; "
                "ALTER TABLE ... DROP FEATURE columnMapping TRUNCATE HISTORY"
            )
        positions = self._deleted_positions(condition)
        actions = pa.table(condition.get_add_actions(flatten=True))
        names = ("path", "partition.topic", "partition.hour", "num_records", "size_bytes")
        columns = [
            actions[name].to_pylist() if name in actions.column_names else [None] * actions.num_rows for name in names
        ]
        return {
            (path := unquote(text)): LiveFile(
                path, topic or "", hour or "", -1 if rows is None else rows, size, (), positions.get(path, b"")
            )
            for text, topic, hour, rows, size in zip(*columns, strict=True)
        }

    def _deleted_positions(self, table: Any) -> dict[str, bytes]:
        """Of rows that deletion vectors delete, by path below the root."""
        if DELETION_VECTORS not in (table.protocol().reader_features or ()):
            return {}
        found: dict[str, bytes] = {}
        for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
            for location, kept in zip(batch["filepath"].to_pylist(), batch["selection_vector"], strict=True):
                deleted = np.flatnonzero(~kept.values.to_numpy(zero_copy_only=False))
                path = Path(unquote(urlparse(location).path)).relative_to(self.root)
                found[str(path)] = deleted.astype(np.int64).tobytes()
        return found

    def columns(self, condition: Any) -> pa.Schema:
        return pa.schema(condition.schema().to_arrow())

    def committed_names(self) -> tuple[Set[str], bool]:
        return names_in(self.root)

    def new_name(self, number: int) -> str:
        return _name(number, uuid.uuid4().int >> 66)

    def publish(self, change: Change, before: Snapshot, name: str, condition: Any) -> None:
        """raises   Overtaken, BrokenTarget, LoadFenced"""
        self._check(condition)
        if OPERATIONS.get(change.reason) == "DELETE" and condition.metadata().configuration.get(APPEND_ONLY) == "true":
            raise BrokenTarget(f"{self.name} has the property {APPEND_ONLY}: rows can't be deleted from it")
        try:
            actions = self._actions(condition, change, before, name)
        except FileNotFoundError as failure:  # a VACUUM that waits for nothing takes what is not committed yet
            raise LoadFenced(f"{self.name}: a file of this commit was removed by another program: {failure}") from None
        self._link(condition.version() + 1, actions)

    def _link(self, version: int, actions: list[dict[str, Any]]) -> None:
        """Make a version, which no other process has made. raises Overtaken, OSError"""
        temporary = self._log / f".{version}.{uuid.uuid4().hex}.tmp"
        write_synced(temporary, "".join(json.dumps(one) + "\n" for one in actions).encode())
        self.step("table commit made")
        try:
            os.link(temporary, self._log / f"{version:020d}.json")
            self.step("table committed")
            sync_directory(self._log)
        except FileExistsError:
            if temporary.stat().st_nlink != 2:  # else an NFS server that heard us twice
                raise Overtaken from None
        finally:
            temporary.unlink(missing_ok=True)
        if version % CHECKPOINT_EVERY == 0:
            self._opened().create_checkpoint()

    def _actions(self, table: Any, change: Change, before: Snapshot, name: str) -> list[dict[str, Any]]:
        now_ms = int(time.time() * 1000)
        number, rest = _parts(name)
        is_data = change.reason != COMPACT
        found: list[dict[str, Any]] = [
            _commit_info(now_ms, OPERATIONS.get(change.reason, "WRITE"), name),
            {"txn": {"appId": APP, "version": number, "lastUpdated": now_ms}},
            {"txn": {"appId": APP_ID, "version": rest, "lastUpdated": now_ms}},
        ]
        wanted = schema_from_text(change.schema) if change.schema else pa.schema([])
        if lacks(self.columns(table), wanted) or ACCEPTED in table.metadata().configuration:
            found.append({"metaData": metadata_of(table, wanted)})
        texts = _texts(table) if change.removed or change.rewritten else {}
        partly = self._deleted_positions(table)  # the log has other rows of these, or they are rewritten
        removed = [before.files[path] for path in change.removed if path in texts and path not in partly]
        found += [{"remove": remove_of(one, texts[one.path], now_ms, is_data=is_data)} for one in removed]
        for one in change.rewritten:
            if one.was.positions:
                raise BrokenTarget(
                    f"{self.name}: {one.was.path} has a deletion vector, so headrace can't rewrite it: REORG TABLE"
                    " ... APPLY (PURGE) by Spark writes it without one; nothing was changed"
                )
            found.append({"remove": remove_of_others(one.was, texts[one.was.path], now_ms)})
            if one.becomes is not None:
                found.append({"add": add_of_others(self.root, one.becomes, now_ms)})
        found += [{"add": add_of(self.root, one, now_ms, is_data=is_data)} for one in change.added if not one.is_bad]
        return found

    def respell(self) -> int:
        """Have the log name files as its usual writers do, and with statistics that they read: one version, in which no row changes.

        returns  how many
        raises   Overtaken, BrokenTarget, OSError
        """
        name, table, _ = self.head()
        if not name:
            return 0
        self._check(table)
        snapshot = self._chained(name)
        now_ms = int(time.time() * 1000)
        actions: list[dict[str, Any]] = [_commit_info(now_ms, "OPTIMIZE", name)]
        for path, text in _texts(table).items():
            one = snapshot.files.get(path)
            if one is not None and text != path_text(path):
                actions.append({"remove": remove_of(one, text, now_ms, is_data=False)})
                actions.append({"add": add_of(self.root, one, now_ms, is_data=False)})
        if len(actions) > 1:
            self._link(table.version() + 1, actions)
        return len(actions) // 2

    def sweep_temporary(self, older_than_s: float) -> int:
        found = 0
        for path in self._log.glob(".*.tmp"):
            if path.exists() and path.stat().st_mtime < older_than_s:
                path.unlink(missing_ok=True)
                found += 1
        return found + super().sweep_temporary(older_than_s)


def delta_target(rest: str, step: Step = no_step) -> DeltaTarget:
    """From a directory. raises   ValueError; ImportError, if deltalake is not installed"""
    if not rest or "://" in rest:
        raise ValueError(f"target delta:{rest}: expected delta:DIRECTORY, a path that all tasks see")
    try:
        import deltalake  # noqa: F401
    except ImportError as failure:
        raise ImportError(f"Delta needs deltalake: pip install 'headrace[delta]' ({failure})") from None
    return DeltaTarget(Path(rest).absolute(), step)


def _name(number: int, rest: int) -> str:
    return f"{number:020d}-{rest:016x}.json"


def _parts(name: str) -> tuple[int, int]:
    number, _, rest = name.removesuffix(".json").partition("-")
    return int(number), int(rest, 16)


def _commit_info(now_ms: int, operation: str, name: str) -> dict[str, Any]:
    return {
        "commitInfo": {
            "timestamp": now_ms,
            "operation": operation,
            "operationParameters": {"mode": "Append"},
            "engineInfo": "headrace",
            COMMIT: name,
        }
    }


def _texts(table: Any) -> dict[str, str]:
    """How the log spells the paths of the table's files, by path below the root."""
    return texts_by_path(pa.table(table.get_add_actions(flatten=True))["path"].to_pylist())
