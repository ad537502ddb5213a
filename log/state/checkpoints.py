"""The small text files of a log directory, in Kafka's formats, each replaced as a whole.

    *-checkpoint               version (0), count, then `topic partition offset` a line
    leader-epoch-checkpoint    in a partition's directory: version (0), count, then `epoch start_offset` a line
    partition.metadata         in a partition's directory: `version: 0`, `topic_id: <base64url of 16 bytes>`
    .kafka_cleanshutdown       JSON, written last by a clean stop, removed by the next start

Source: Kafka `CheckpointFile`, `OffsetCheckpointFile`, `PartitionMetadataFile`, `CleanShutdownFileHandler`.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.log.disk import Disk

RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
REPLICATION_OFFSET_FILE: Final = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE: Final = "cleaner-offset-checkpoint"
LOG_START_OFFSET_FILE: Final = "log-start-offset-checkpoint"
LEADER_EPOCH_FILE: Final = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE: Final = "partition.metadata"
CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"
VERSION: Final = "0"
OFFSET_MAX: Final = 2**63 - 1
PARTITION_MAX = EPOCH_MAX = 2**31 - 1
TOPIC_ID_DIGITS: Final = 32

_DISK: Final = Disk()


class BadCheckpoint(HeadraceError):
    """A checkpoint file that is not in its format."""


def read_offset_checkpoint(path: Path) -> dict[TopicPartition, int]:
    """Offsets by partition; empty where the file is not there.

    raises   BadCheckpoint, naming file and line
    """
    offsets = {}
    for line in read_lines(path):
        topic, _, rest = line.rpartition(" ")[0].rpartition(" ")
        offset = line.rpartition(" ")[2]
        if topic and is_number(rest, PARTITION_MAX) and is_number(offset, OFFSET_MAX):
            offsets[TopicPartition(topic, int(rest))] = int(offset)
        else:
            raise BadCheckpoint(f"{path}: line {line[:400]!r} is not `topic partition offset`")
    return offsets


def write_offset_checkpoint(path: Path, offsets: Mapping[TopicPartition, int], disk: Disk = _DISK) -> None:
    """Replace the file."""
    write_lines(path, [f"{name.topic} {name.partition} {offset}" for name, offset in sorted(offsets.items())], disk)


def read_leader_epochs(path: Path) -> list[tuple[int, int]]:
    """(epoch, start offset), oldest first; empty where the file is not there.

    raises   BadCheckpoint, naming file and line; also where epochs or offsets don't grow
    """
    epochs = []
    for line in read_lines(path):
        try:
            epoch, start_offset = line.split()
            if not is_number(epoch, EPOCH_MAX) or not is_number(start_offset, OFFSET_MAX):
                raise ValueError
            epochs.append((int(epoch), int(start_offset)))
        except ValueError:
            raise BadCheckpoint(f"{path}: line {line[:100]!r} is not `epoch start_offset`") from None
    for (known, known_start), (following, start) in pairwise([(-1, -1), *epochs]):
        if not known < following or not known_start <= start:
            raise BadCheckpoint(f"{path}: epoch {following} at {start} after epoch {known} at {known_start}")
    return epochs


def write_leader_epochs(
    path: Path, epochs: list[tuple[int, int]], disk: Disk = _DISK, *, is_durable: bool = True
) -> None:
    """Replace the file."""
    write_lines(path, [f"{epoch} {start_offset}" for epoch, start_offset in epochs], disk, is_durable=is_durable)


def write_partition_metadata(path: Path, topic_id: str, disk: Disk = _DISK, *, is_durable: bool = True) -> None:
    """`topic_id` as 32 hex digits."""
    text = base64.urlsafe_b64encode(bytes.fromhex(topic_id)).rstrip(b"=").decode()
    disk.replace_file(path, f"version: 0\ntopic_id: {text}\n".encode(), is_durable=is_durable)


def read_partition_metadata(path: Path) -> str:
    """The topic id as 32 hex digits; "" where the file is not there, or not in its format. raises OSError"""
    try:
        fields = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line)
        topic_id = base64.urlsafe_b64decode(fields["topic_id"] + "==").hex()
        return topic_id if len(topic_id) == TOPIC_ID_DIGITS else ""
    except (FileNotFoundError, UnicodeDecodeError, KeyError, ValueError):
        return ""


def sync_file(path: Path, disk: Disk = _DISK) -> bool:
    """Make what a file holds durable, its name is for the caller; False, where there is none. raises OSError"""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        disk.fsync(fd)
    finally:
        os.close(fd)
    return True


def sync_beginning(directory: Path, disk: Disk = _DISK) -> None:
    """Make the small files of a new partition durable, and its name; its own directory is for the caller. raises OSError"""
    for name in (PARTITION_METADATA_FILE, LEADER_EPOCH_FILE):
        sync_file(directory / name, disk)
    disk.sync_directory(directory.parent)


def write_clean_shutdown(log_dir: Path, disk: Disk = _DISK) -> None:
    """The last file of a clean stop."""
    disk.replace_file(log_dir / CLEAN_SHUTDOWN_FILE, json.dumps({"version": 0, "brokerEpoch": -1}).encode())


def take_clean_shutdown(log_dir: Path, disk: Disk = _DISK) -> bool:
    """Whether the last stop was clean; the marker is gone afterwards, durably, before anything is written."""
    try:
        disk.unlink(log_dir / CLEAN_SHUTDOWN_FILE)
    except FileNotFoundError:
        return False
    disk.sync_directory(log_dir)
    return True


def is_number(text: str, most: int) -> bool:
    """Whether a field is a number that its place can hold: what is none of Kafka's must not get into a row or a batch."""
    return text.isascii() and text.isdecimal() and len(text) <= len(str(OFFSET_MAX)) and int(text) <= most


def read_lines(path: Path) -> list[str]:
    """The entries of a checkpoint file; none where it is not there.

    Each line ends with a newline, in Kafka's files too: the last one without it may be a part of what it was.

    raises   BadCheckpoint, OSError
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise BadCheckpoint(f"{path}: not a text file") from None
    lines = text.splitlines()
    if not lines:
        return []
    if not text.endswith("\n"):
        raise BadCheckpoint(f"{path}: the last line is truncated, {lines[-1][:100]!r}")
    if lines[0] != VERSION:
        raise BadCheckpoint(f"{path}: version {lines[0][:100]!r}, expected {VERSION}")
    body = [line for line in lines[2:] if line]
    if len(lines) < 2 or not is_number(lines[1], PARTITION_MAX) or int(lines[1]) != len(body):
        raise BadCheckpoint(f"{path}: {lines[1][:100] if lines[1:] else None!r} entries announced, {len(body)} found")
    return body


def write_lines(path: Path, lines: list[str], disk: Disk, *, is_durable: bool = True) -> None:
    """Replace a checkpoint file; raises OSError."""
    disk.replace_file(path, "\n".join([VERSION, str(len(lines)), *lines, ""]).encode(), is_durable=is_durable)
