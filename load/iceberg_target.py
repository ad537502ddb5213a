"""An Iceberg table: files, offsets and what they mean in one snapshot, on condition of the snapshot before.

    LOCATION/topic=clicks/hour=2026-11-23-14/...parquet   added as they are (name mapping), by partition: topic, hour of timestamp
    LOCATION/_headrace/                                   commits (manifest_chain.py), running loaders
    headrace.commit in a snapshot's summary               name of our commit
    headrace.offsets in a snapshot's summary              {"clicks": {"0": 100}}
    headrace.commit, headrace.snapshot in the properties  the last commit, and the id of its snapshot: for when snapshots have expired

pyiceberg retries a commit that lost against another by itself, with the new snapshot as its condition: what was read before would be
appended a second time. So its transaction only makes the updates; they go to the catalog once, with the condition that they were made
with: the table's main branch is at the snapshot that was read (`assert-ref-snapshot-id`). The catalog compares and swaps.

The location must be a path that all tasks see; the catalog may be any of pyiceberg's.

Source: the Iceberg REST specification's table requirements; iceberg-python 3320.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa

from headrace.load.commits import Change, LiveFile, Snapshot
from headrace.load.durable import make_directory
from headrace.load.errors import BrokenTarget, LoadFenced, SchemaConflict, TargetUnavailable, UnknownOutcome
from headrace.load.iceberg_columns import check_names, check_writable, ids_of, planned
from headrace.load.iceberg_files import iceberg_data_file, with_any_hours, with_own_evaluators
from headrace.load.lost_history import ACCEPTED
from headrace.load.manifest_chain import POINTER, ChainedTarget, Head, Overtaken
from headrace.load.record_times import HOUR_MS, TimeSpan
from headrace.load.schemas import schema_from_text
from headrace.load.table_columns import lacks
from headrace.load.target import Step, no_step

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot

OFFSETS = "headrace.offsets"
SNAPSHOT = "headrace.snapshot"
TOPIC_FIELD = "topic_partition"
HOURS_MOST = 2**31  # the partition is an int of hours since 1970


class IcebergTarget(ChainedTarget):
    """A table of a catalog; created at the first load, partitioned by topic and by the hour of timestamp.

    catalog   as `pyiceberg.catalog.load_catalog` gives it
    table     NAMESPACE.TABLE
    """

    kind = "iceberg"
    fences_before_removal = True
    time_span = TimeSpan(-HOURS_MOST * HOUR_MS, HOURS_MOST * HOUR_MS - 1)

    def __init__(self, catalog: Catalog, table: str, step: Step = no_step) -> None:
        self._catalog = catalog
        self._table = table
        super().__init__(Path(), f"iceberg:{catalog.name}:{table}", step)
        if catalog.table_exists(table):
            self.root = _local(catalog.load_table(table).location())

    def prepare(self, schema: pa.Schema) -> None:
        """raises   ValueError, for a location that is no path here; pyiceberg's errors of the catalog"""
        if not self._catalog.table_exists(self._table):
            self._create(schema)
        table = self._catalog.load_table(self._table)
        check_writable(table, self.name, schema.names)
        self.root = _local(table.location())
        make_directory(self.control)

    def _create(self, schema: pa.Schema) -> None:
        from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError, TableAlreadyExistsError
        from pyiceberg.transforms import HourTransform, IdentityTransform

        namespace = self._table.rpartition(".")[0]
        try:
            self._catalog.create_namespace(namespace)
        except NamespaceAlreadyExistsError:
            pass
        try:
            with (
                self._catalog.create_table_transaction(self._table, schema=schema) as transaction,
                transaction.update_spec() as spec,
            ):
                spec.add_field("topic", IdentityTransform(), TOPIC_FIELD)
                spec.add_field("timestamp", HourTransform(), "timestamp_hour")
        except (TableAlreadyExistsError, CommitFailedException):  # another loader's first round
            if not self._catalog.table_exists(self._table):
                raise

    def _loaded_table(self) -> Table:
        """raises   BrokenTarget, if the table is gone; TargetUnavailable"""
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return self._catalog.load_table(self._table)
        except NoSuchTableError as failure:
            raise BrokenTarget(f"{self.name} no longer exists: {failure}") from None
        except Exception as failure:  # a catalog's client raises what its transport does
            raise TargetUnavailable(f"{self.name}: {type(failure).__name__}: {failure}") from failure

    def head(self) -> Head:
        if self.root == Path():
            return Head("", None)
        table = self._loaded_table()
        snapshot, oldest = table.current_snapshot(), None
        while snapshot is not None:
            summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
            if POINTER in summary:
                return Head(summary[POINTER], table)
            oldest, parent = snapshot, snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        return self._before(table, oldest)

    def _before(self, table: Table, oldest: IcebergSnapshot | None) -> Head:
        """Of a table none of whose snapshots names a commit: our last one before the oldest of them. Expiry leaves a snapshot
        without its parent, pyiceberg's without its parent's id, too.

        oldest   None: the table has no current snapshot
        raises   BrokenTarget
        """
        if oldest is not None and oldest.parent_snapshot_id is None and oldest.sequence_number == 1:
            return Head("", table)  # the table's first one: it was taken back to before the first load
        name = table.properties.get(POINTER, "")
        if not name:
            if oldest is not None and any(
                self._commits.glob("*.json")
            ):  # of a table of version 1 nothing says its first one
                raise BrokenTarget(
                    f"{self.name}: the snapshots that say what was loaded have expired: load to another table"
                )
            return Head("", table)
        if oldest is not None and str(oldest.parent_snapshot_id) == table.properties.get(SNAPSHOT):
            return Head(name, table)
        accepted = table.properties.get(ACCEPTED)
        if accepted:
            return Head(accepted, table)
        number = oldest.sequence_number if oldest is not None else None
        while number is not None and (found := self._loaded(name)).get("sequence", 0) > number:
            name = found.get("previous", "")
            if not name:
                raise BrokenTarget(
                    f"{self.name} was rolled back to before commit {number}, and the load before that is unknown: load to another table"
                )
        return Head(name, table, is_certain=False)

    def sequence(self, condition: Any) -> int | None:
        metadata = condition.metadata
        return metadata.next_sequence_number() if metadata.format_version > 1 else None

    def columns(self, condition: Any) -> pa.Schema:
        return condition.schema().as_arrow()

    def check_view(self, snapshot: Snapshot, condition: Any) -> None:
        ours = schema_from_text(snapshot.schema).names if snapshot.schema else []
        check_names(condition, self.name, ours)

    def column_ids(self, condition: Any) -> Mapping[str, int]:
        return ids_of(condition)

    def live(self, condition: Any) -> Mapping[str, LiveFile]:
        """raises   BrokenTarget, for a file that is no path here"""
        table: Table = condition
        found: dict[str, LiveFile] = {}
        if table.current_snapshot() is None:
            return found
        names = {spec.spec_id: [field.name for field in spec.fields] for spec in table.specs().values()}
        for task in planned(table, self.name):
            file = task.file
            path = self._below(file.file_path)
            topic = _partition_topic(names.get(file.spec_id, []), file.partition)
            deletes = tuple(self._below(one.file_path) for one in task.delete_files)
            found[path] = LiveFile(path, topic, "", file.record_count, file.file_size_in_bytes, deletes)
        return found

    def table(self) -> Table:
        """As its catalog has it now. raises BrokenTarget, TargetUnavailable"""
        return self._loaded_table()

    def local(self, location: str) -> Path:
        """Of a file that the table names. raises ValueError"""
        return _local(location)

    def forget(self, table: Table, snapshot_ids: Sequence[int]) -> None:
        """Have the catalog forget snapshots, on condition that the table is at the one at which it was read.

        raises   Overtaken; TargetUnavailable, if the catalog did not say whether it did
        """
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, RemoveSnapshotsUpdate

        current = table.current_snapshot()
        requirements = (
            AssertTableUUID(uuid=table.metadata.table_uuid),
            AssertRefSnapshotId.model_validate(
                {"ref": "main", "snapshot-id": None if current is None else current.snapshot_id}
            ),
        )
        update = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(snapshot_ids)})
        try:
            self._catalog.commit_table(table, requirements, (update,))
        except CommitFailedException:
            raise Overtaken from None
        except Exception as failure:  # a connection that broke, too
            raise TargetUnavailable(f"{self.name}: {type(failure).__name__}: {failure}") from failure
        self.step("snapshots forgotten")

    def _below(self, location: str) -> str:
        """raises   BrokenTarget"""
        try:
            return str(_local(location).relative_to(self.root))
        except ValueError as failure:
            raise BrokenTarget(f"{self.name}: its file {location} is not below {self.root}: {failure}") from None

    def committed_names(self) -> tuple[Set[str], bool]:
        snapshots = self._loaded_table().snapshots()
        ids = {one.snapshot_id for one in snapshots}
        summaries = [one.summary for one in snapshots if one.summary is not None]
        names = {one.additional_properties[POINTER] for one in summaries if POINTER in one.additional_properties}
        return names, any(one.parent_snapshot_id not in (None, *ids) for one in snapshots)

    def publish(self, change: Change, before: Snapshot, name: str, condition: Any) -> None:
        """raises   Overtaken; UnknownOutcome, if the catalog did not say whether it took the commit"""
        from pyiceberg.exceptions import CommitFailedException
        from pyiceberg.table.update import (
            AddSnapshotUpdate,
            AssertCurrentSchemaId,
            AssertDefaultSpecId,
            AssertTableUUID,
        )

        table: Table = condition
        check_writable(table, self.name, schema_from_text(change.schema or before.schema).names)
        transaction = table.transaction()
        wanted = schema_from_text(change.schema) if change.schema else pa.schema([])
        if lacks(self.columns(table), wanted):
            with transaction.update_schema() as update:
                update.union_by_name(wanted)
        offsets = {topic: dict(one.next_offsets) for topic, one in change.offsets.items()}
        try:
            self._stage(transaction, table, change, {POINTER: name, OFFSETS: json.dumps(offsets)})
        except FileNotFoundError as failure:
            raise LoadFenced(f"{self.name}: a file of this commit was removed by another program: {failure}") from None
        except ValueError as failure:  # columns were changed while the files were written
            raise SchemaConflict(f"{self.name} can't take the files of this commit: {failure}") from None
        made = next(one.snapshot.snapshot_id for one in transaction._updates if isinstance(one, AddSnapshotUpdate))
        transaction.set_properties({POINTER: name, SNAPSHOT: str(made)})
        if ACCEPTED in table.properties:
            transaction.remove_properties(ACCEPTED)
        requirements = (
            *transaction._requirements,
            AssertTableUUID(uuid=table.metadata.table_uuid),
            AssertCurrentSchemaId.model_validate({"current-schema-id": table.metadata.current_schema_id}),
            AssertDefaultSpecId.model_validate({"default-spec-id": table.metadata.default_spec_id}),
        )
        self.step("table commit made")
        try:
            self._catalog.commit_table(table, requirements, transaction._updates)
        except CommitFailedException:
            raise Overtaken from None
        except ValueError as failure:  # its check of the metadata: another snapshot came, and was rolled back
            if self._loaded_table().metadata_location == table.metadata_location:
                raise UnknownOutcome(f"{self.name}: the catalog refused the commit: {failure}") from failure
            raise Overtaken from None
        except Exception as failure:  # a connection that broke, too: it may have taken it
            raise UnknownOutcome(
                f"{self.name}: the catalog did not say whether it took the commit: {type(failure).__name__}: {failure}"
            ) from failure
        self.step("table committed")

    def _stage(self, transaction: Transaction, table: Table, change: Change, properties: dict[str, str]) -> None:
        """The updates of one snapshot, not sent yet."""
        from pyiceberg.table import TableProperties

        added = [self.root / one.path for one in change.added if not one.is_bad]
        added += [self.root / one.becomes.path for one in change.rewritten if one.becomes is not None]
        if not change.removed and not change.rewritten:
            if added and transaction.table_metadata.name_mapping() is None:
                mapping = transaction.table_metadata.schema().name_mapping.model_dump_json()
                transaction.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
            with with_any_hours(transaction._append_snapshot_producer(properties)) as append:
                for path in added:
                    append.append_data_file(iceberg_data_file(transaction.table_metadata, path))
            return
        rewritten = {one.was.path for one in change.rewritten}
        producer = with_own_evaluators(transaction.update_snapshot(snapshot_properties=properties).overwrite())
        with with_any_hours(producer) as overwrite:
            for task in planned(table, self.name):
                place = self._below(task.file.file_path)
                is_whole = not task.delete_files  # others may have the rows that are left of our file
                if place in rewritten or (place in change.removed and is_whole):
                    overwrite.delete_data_file(task.file)
            for path in added:
                overwrite.append_data_file(iceberg_data_file(transaction.table_metadata, path))


def iceberg_target(rest: str, step: Step = no_step) -> IcebergTarget:
    """From CATALOG:NAMESPACE.TABLE; the catalog is configured as pyiceberg does it (.pyiceberg.yaml, PYICEBERG_CATALOG__NAME__URI).

    raises   ValueError; ImportError, if pyiceberg is not installed
    """
    catalog, colon, table = rest.partition(":")
    if not colon or "." not in table or not catalog:
        raise ValueError(f"target iceberg:{rest}: expected iceberg:CATALOG:NAMESPACE.TABLE")
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError as failure:
        raise ImportError(f"Iceberg needs pyiceberg: pip install 'headrace[iceberg]' ({failure})") from None
    return IcebergTarget(load_catalog(catalog), table, step)


def _partition_topic(names: Sequence[str], values: Any) -> str:
    """The topic that a file's partition says; '': it does not."""
    if TOPIC_FIELD not in names:
        return ""
    topic = values[names.index(TOPIC_FIELD)]
    return topic if isinstance(topic, str) else ""


def _local(location: str) -> Path:
    """raises   ValueError"""
    found = urlparse(location)
    if found.scheme not in ("", "file"):
        raise ValueError(f"table location {location!r}: files are written to mounted paths, not to {found.scheme}://")
    return Path(unquote(found.path)).absolute()
