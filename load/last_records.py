"""Whether the log still has the last record of each partition that was loaded, as it was loaded.

Runs in: the driver, before a round. Leader epochs tell a log that was truncated from one that was not (`round_plan.py`), as far as an epoch
changed meanwhile. Where it did not (a disk restored under a leader that came back at once), the record itself is compared: its time,
and its key and value where the table has them. The table's own files have it; a record that was compacted away, or whose time the table
can't hold, is not compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.arrow.column_types import TIMESTAMP_MS
from headrace.arrow.planner import ranges_between
from headrace.arrow.ranges import read_range
from headrace.arrow.scan_options import ScanOptions
from headrace.client.cluster import Cluster
from headrace.ids import TopicPartition
from headrace.load.commits import DataFile, Snapshot
from headrace.load.contents import Contents
from headrace.load.round_plan import RoundPlan
from headrace.load.schemas import schema_from_text

COMPARED = ("key", "value")


def changed_records(
    cluster: Cluster,
    options: ScanOptions,
    root: Path,
    snapshot: Snapshot,
    plan: RoundPlan,
    directories: dict[tuple[int, TopicPartition], str],
    contents: Contents,
) -> dict[TopicPartition, int]:
    """The offsets of last records that the log has otherwise than the table, by partition.

    plan       of the round: its partitions are compared that continue at the last commit's offset
    contents   of the load: with decoding only times are compared
    raises     what `read_range` raises, KafkaError, ConnectionFailed
    """
    last = _last_files(snapshot, plan)
    if not last:
        return {}
    bounds = {name: (one.last_offset, one.last_offset + 1) for name, one in last.items()}
    found = {}
    for one in ranges_between(cluster, options, bounds, directories, 1):
        name = TopicPartition(one.topic, one.partition)
        loaded = _row(root / last[name].path, one.start, schema_from_text(snapshot.schema), contents)
        if loaded is None or loaded["timestamp"] is None:
            continue
        names = [column for column in COMPARED if column in loaded]
        for batch in read_range(one, ("offset", TIMESTAMP_MS, *names)):
            row = batch.to_pylist()[0]
            if not contents.span.least_ms <= row[TIMESTAMP_MS] <= contents.span.most_ms:
                continue
            if 1000 * row[TIMESTAMP_MS] != loaded["timestamp"] or any(row[key] != loaded[key] for key in names):
                found[name] = one.start
    return found


def _last_files(snapshot: Snapshot, plan: RoundPlan) -> dict[TopicPartition, DataFile]:
    """The file with the greatest offset of each partition that continues; not of dead letters, nor of what the log has no longer."""
    wanted = {name for name, (begin, _end) in plan.bounds.items() if snapshot.next_offset(name) == begin}
    found: dict[TopicPartition, DataFile] = {}
    for one in snapshot.files.values():
        name = TopicPartition(one.topic, one.partition)
        if name in wanted and one.topic_id == snapshot.offsets[one.topic].topic_id:
            known = found.get(name)
            if known is None or known.last_offset < one.last_offset:
                found[name] = one
    return {name: one for name, one in found.items() if not one.is_bad and one.last_offset >= plan.lows.get(name, 0)}


def _row(path: Path, offset: int, schema: pa.Schema, contents: Contents) -> dict[str, Any] | None:
    """A row of a file: microseconds, and of key and value those that are bytes as they came."""
    compared = COMPARED if contents.decode is None else ()
    names = [name for name in compared if name in schema.names and schema.field(name).type == pa.binary()]
    try:
        table = ds.dataset([str(path)], schema=schema, format="parquet", partitioning=None).to_table(
            columns=["timestamp", *names], filter=ds.field("offset") == offset
        )
    except (OSError, pa.ArrowInvalid):
        return None  # changed or removed by others: the audit says so
    if not table.num_rows:
        return None
    return {"timestamp": table["timestamp"].cast(pa.int64())[0].as_py()} | {
        name: table[name][0].as_py() for name in names
    }
