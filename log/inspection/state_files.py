"""The small files of a log directory as rows: producer snapshots, checkpoints, leader epochs, partition.metadata, meta.properties.

    file                                     rows
    --------------------------------------   ------------------------------------------------------------
    *.snapshot                               one a producer
    recovery-point-, replication-,
    log-start-, cleaner-offset-checkpoint    topic, partition, offset
    leader-epoch-checkpoint                  epoch, start offset
    partition.metadata, meta.properties      one: its keys and values

Source: Kafka `ProducerStateManager`, `CheckpointFile`, `PartitionMetadataFile`, `MetaProperties`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.limits import STATE_FILE_BYTES_MAX, STATE_FILE_LINES_MAX
from headrace.log.names import SNAPSHOT_SUFFIX
from headrace.log.state.checkpoints import (
    CLEANER_OFFSET_FILE,
    LEADER_EPOCH_FILE,
    LOG_START_OFFSET_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    BadCheckpoint,
    read_leader_epochs,
    read_offset_checkpoint,
)
from headrace.log.state.producer_snapshot import read_snapshot

META_PROPERTIES_FILE = "meta.properties"
OFFSET_CHECKPOINTS = (RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE, LOG_START_OFFSET_FILE, CLEANER_OFFSET_FILE)
TOPIC_ID_BYTES = 16

Row = dict[str, Any]


class BadStateFile(HeadraceError):
    """A small file that is not in its format; names file and reason."""


def rows_of(path: Path) -> tuple[str, list[Row]]:
    """(kind, rows) of a file, told by its name.

    returns   kind "" for a name that is none of them
    raises    HeadraceError, naming the file, where it is not in its format; OSError
    """
    kind, reader = _reader_of(path)
    if reader is None:
        return "", []
    size = path.stat().st_size
    if size > STATE_FILE_BYTES_MAX:
        raise BadStateFile(f"{path}: {size} bytes, the limit is {STATE_FILE_BYTES_MAX}")
    return kind, reader(path)


def read_properties(path: Path) -> dict[str, str]:
    """Keys and values of a properties file; raises BadStateFile, OSError."""
    return _pairs(path, "=")


def topic_id_of(path: Path) -> str:
    """The id in a partition.metadata, as it stands there.

    raises   BadStateFile, where there is none of 16 bytes; OSError
    """
    pairs = _pairs(path, ":")
    if pairs.get("version") != "0":
        raise BadStateFile(f"{path}: version {pairs.get('version')!r}, expected 0")
    text = pairs.get("topic_id", "")
    try:
        size = len(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        size = -1
    if size != TOPIC_ID_BYTES:
        raise BadStateFile(f"{path}: topic_id {text!r} is not an id of 16 bytes in URL-safe Base64")
    return text


def _reader_of(path: Path) -> tuple[str, Callable[[Path], list[Row]] | None]:
    if path.name.endswith(SNAPSHOT_SUFFIX):
        return "producer", _snapshot
    if path.name in OFFSET_CHECKPOINTS:
        return "checkpoint", _offsets
    if path.name == LEADER_EPOCH_FILE:
        return "leader-epoch", _epochs
    if path.name == PARTITION_METADATA_FILE:
        return "partition-metadata", _partition_metadata
    if path.name == META_PROPERTIES_FILE:
        return "meta-properties", lambda properties: [dict(read_properties(properties))]
    return "", None


def _snapshot(path: Path) -> list[Row]:
    rows = []
    for producer_id, producer in read_snapshot(path).items():
        row: Row = {
            "producer_id": producer_id,
            "producer_epoch": producer.epoch,
            "coordinator_epoch": producer.coordinator_epoch,
            "txn_first_offset": producer.txn_first_offset,
            "last_timestamp_ms": producer.last_timestamp_ms,
        }
        if producer.batches:
            last = producer.batches[-1]
            row |= {"first_sequence": last.first_sequence, "last_sequence": last.last_sequence}
            row |= {"first_offset": last.first_offset, "last_offset": last.last_offset}
        rows.append(row)
    return rows


def _offsets(path: Path) -> list[Row]:
    rows = read_offset_checkpoint(path).items()
    return [{"topic": name.topic, "partition": name.partition, "offset": offset} for name, offset in rows]


def _epochs(path: Path) -> list[Row]:
    epochs = read_leader_epochs(path)
    for before, after in pairwise(epochs):
        if after[0] <= before[0] or after[1] < before[1]:
            raise BadCheckpoint(
                f"{path}: epoch {after[0]} at offset {after[1]} follows epoch {before[0]} at {before[1]}"
            )
    return [{"epoch": epoch, "start_offset": offset} for epoch, offset in epochs]


def _partition_metadata(path: Path) -> list[Row]:
    return [{"version": 0, "topic_id": topic_id_of(path)}]


def _pairs(path: Path, separator: str) -> dict[str, str]:
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        raise BadStateFile(f"{path}: not a text file") from None
    if len(lines) > STATE_FILE_LINES_MAX:
        raise BadStateFile(f"{path}: {len(lines)} lines, the limit is {STATE_FILE_LINES_MAX}")
    found = {}
    for line in lines:
        key, found_separator, value = line.partition(separator)
        if line.strip() and not line.startswith("#"):
            if not found_separator:
                raise BadStateFile(f"{path}: line {line!r} has no {separator!r}")
            found[key.strip()] = value.strip()
    return found
