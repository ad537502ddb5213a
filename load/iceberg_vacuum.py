"""Snapshots of an Iceberg table given up, and files that no snapshot has any more.

    1 our committed files, then the table      in this order: see `vacuuming.unneeded`
    2 what the snapshots to give up name       data files, files of deletes, manifests, manifest lists
    3 the catalog forgets these snapshots      on condition that the table is still at the one that was read
    4 remove what 2 named, and our own files   but for all that a snapshot that is left names

Never given up: what a branch or a tag is at, and the snapshots from our last commit on, where a load finds its offsets. A death between 3
and 4 leaves manifests that remove_orphan_files takes; our data files the next vacuum finds by 1.

Source: the Iceberg specification's snapshots and manifests; expire_snapshots of Iceberg and its snapshot requirements.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.limits import LOAD_UPKEEP_TRIES_MAX
from headrace.load.errors import LoadFenced
from headrace.load.iceberg_target import IcebergTarget
from headrace.load.manifest_chain import POINTER, Overtaken
from headrace.load.vacuuming import Vacuumed, removed_files, settled, unneeded

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


def vacuum_iceberg(target: IcebergTarget, cutoff_s: float, dry_run: bool) -> Vacuumed:
    """raises   LoadFenced, where other commits came first again and again; BrokenTarget, TargetUnavailable, OSError"""
    for _ in range(LOAD_UPKEEP_TRIES_MAX):
        committed = settled(target)
        table = target.table()
        old = _given_up(table, cutoff_s)
        candidates = _named(target, table, old)
        if not dry_run and old:
            try:
                target.forget(table, [one.snapshot_id for one in old])
            except Overtaken:
                continue
            table = target.table()
        ids = {one.snapshot_id for one in old}
        kept = [one for one in table.snapshots() if one.snapshot_id not in ids]
        needed = _named(target, table, kept)
        names = {one.summary.additional_properties.get(POINTER, "") for one in kept if one.summary is not None} - {""}
        root = target.root
        data = {str(path.relative_to(root)) for path in needed if path.is_relative_to(root)}
        paths = {*(candidates - needed), *unneeded(target, committed, data, names, cutoff_s)}
        return removed_files(sorted(path for path in paths if path.is_relative_to(root)), dry_run, len(old))
    raise LoadFenced(f"{target.name}: lost to other commits {LOAD_UPKEEP_TRIES_MAX} times: run it again")


def _given_up(table: Table, cutoff_s: float) -> list[Snapshot]:
    """Snapshots of before a time, but for those that are needed."""
    kept = {ref.snapshot_id for ref in table.refs().values()}
    current = table.current_snapshot()
    while current is not None:
        kept.add(current.snapshot_id)
        if current.summary is not None and POINTER in current.summary.additional_properties:
            break
        parent = current.parent_snapshot_id
        current = None if parent is None else table.snapshot_by_id(parent)
    return [one for one in table.snapshots() if one.snapshot_id not in kept and one.timestamp_ms < cutoff_s * 1000]


def _named(target: IcebergTarget, table: Table, snapshots: Iterable[Snapshot]) -> set[Path]:
    """All files that snapshots need."""
    found: set[Path] = set()
    seen: set[str] = set()
    for one in snapshots:
        found.add(target.local(one.manifest_list))
        for manifest in one.manifests(table.io):
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                found.add(target.local(manifest.manifest_path))
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                found.update(target.local(entry.data_file.file_path) for entry in entries)
    return found
