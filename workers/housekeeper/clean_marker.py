"""Whether a log directory may get its clean-shutdown marker: that promises a whole and synced log in every directory of
a partition, and the next start believes it.

Partition workers that ended with 0 closed every log that they had open; one that was killed, and waits to be started
again, has another generation since. So a log is as promised, where

    it was open, and is closed        its row was published by the owner that has just ended
    it is as the last stop left it    the directory was clean at the start, and no owner of this boot published a
                                      row of it

Anything else is unknown: a log that was never opened after an unclean end (ZooKeeper was not there, the stop came early,
the view left the topic out), one whose owner was killed and whose successor had not opened it yet.

Runs in: the housekeeper, at the end of a clean stop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from headrace.ids import NO_KEY, PartitionKey, TopicPartition, owner_of, partition_key
from headrace.log.state.checkpoints import PARTITION_MAX, PARTITION_METADATA_FILE, is_number, read_partition_metadata
from headrace.shm.cluster_view import ClusterView
from headrace.shm.partition_table import IN_SERVICE, PartitionRow, RowState
from headrace.shm.seat import Seat

_NOWHERE = (-1, NO_KEY)  # slot, key


def unclosed_log(
    log_dir: Path, seat: Seat, view: ClusterView, seen: Mapping[Path, int]
) -> tuple[TopicPartition, str] | None:
    """A log that is not known to be clean, and why; after every partition worker that ran ended with 0.

    seen      generation of the owner by directory, of replicas that were in service: the view may not show them any more
    returns   None where all of the directory are closed
    raises    OSError
    """
    was_clean = str(log_dir) in seat.wiring.clean_directories
    places = {
        (topic.name, partition.index): (partition.slot, partition.key)
        for topic in view.topics.values()
        for partition in topic.partitions
        if partition.slot >= 0
    }
    rows: dict[int, PartitionRow] | None = None
    for name in _partitions_in(log_dir):
        row = _row_of(seat, *places.get(name, _NOWHERE))
        if row is None:
            if not was_clean:
                return name, "was not opened since an unclean stop"
            rows = _rows_by_key(seat) if rows is None else rows
            topic_id = read_partition_metadata(log_dir / str(name) / PARTITION_METADATA_FILE)
            row = rows.get(partition_key(*name, topic_id))
        if row is not None and row.generation > 0:
            if row.state not in IN_SERVICE:
                return name, "could not be opened, or was lost"
            published = row.generation
        else:
            published = seen.get(log_dir / str(name), 0)
        if published:
            if published != _owner_generation(name, seat):
                return name, "was not closed by its owner"
        elif not was_clean:
            return name, "was not opened since an unclean stop"
    return None


def _partitions_in(log_dir: Path) -> list[TopicPartition]:
    found = []
    for entry in os.scandir(log_dir):
        topic, _dash, partition = entry.name.rpartition("-")
        if topic and is_number(partition, PARTITION_MAX) and entry.is_dir():
            found.append(TopicPartition(topic, int(partition)))
    return found


def _row_of(seat: Seat, slot: int, key: PartitionKey) -> PartitionRow | None:
    """The row of a partition of the view, None where it has none."""
    if slot < 0:
        return None
    row, is_torn = seat.partitions.recover_row(slot)  # no owner runs any more
    if is_torn:
        return row._replace(state=RowState.OFFLINE, generation=max(1, row.generation))
    return row if row.key == key else None


def _rows_by_key(seat: Seat) -> dict[int, PartitionRow]:
    """All rows that are in use: replicas that the view does not show are among them."""
    rows = (seat.partitions.recover_row(slot)[0] for slot in range(seat.partitions.rows))
    return {row.key: row for row in rows if row.state != RowState.FREE}


def _owner_generation(name: TopicPartition, seat: Seat) -> int:
    wiring = seat.wiring
    owner = wiring.network_count + owner_of(name.topic, name.partition, wiring.partition_count)
    return seat.processes.generation(owner)
