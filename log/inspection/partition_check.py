"""One partition's directory: what is in it besides batches, and whether its segments fit together.

Segments are checked one by one, on any core (`segment_check.py`); this checks their names before, and at their
reports after: offsets from segment to segment, leader epochs, checkpoints, snapshots.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.log.inspection.fault import Fault, Findings
from headrace.log.inspection.segment_check import RESTORE, SegmentReport
from headrace.log.inspection.state_files import rows_of, topic_id_of
from headrace.log.names import (
    CLEANED_SUFFIX,
    COPY_NAME_FILE,
    COPY_SYNCED_FILE,
    CUT_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
)
from headrace.log.state.checkpoints import (
    CLEANER_OFFSET_FILE,
    LEADER_EPOCH_FILE,
    LOG_START_OFFSET_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    read_leader_epochs,
)
from headrace.log.state.compacted_offset import COMPACTED_FILE
from headrace.log.state.known_era import ERA_FILE
from headrace.log.state.loss_mark import LOSS_FILE
from headrace.log.state.synced_mark import SYNCED_FILE
from headrace.log.state.truncation_mark import TRUNCATION_FILE

OFFSET_NAME = re.compile(r"[0-9]{20}(\.[a-z]+)")
FOLDER_NAME = re.compile(
    r"(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})(?P<future>\.[0-9a-f]{32}-future)?"
)
PASSING_NAME = re.compile(r".*-(delete|stray)")
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, SNAPSHOT_SUFFIX)
UNFINISHED_SUFFIXES = (CLEANED_SUFFIX, SWAP_SUFFIX, CUT_SUFFIX, ".tmp")
MARK_NAMES = (
    COMPACTED_FILE,
    ERA_FILE,
    LOSS_FILE,
    SYNCED_FILE,
    TRUNCATION_FILE,
    COPY_NAME_FILE,
    COPY_SYNCED_FILE,
)  # the last two are of a move between log directories
STATE_NAMES = (LEADER_EPOCH_FILE, PARTITION_METADATA_FILE)
NEXT_START = "nothing: the next start of the node finishes or removes it"
EPOCHS_ANEW = (
    "while the node is stopped, remove it, .kafka_cleanshutdown and recovery-point-offset-checkpoint:"
    " the next start reads all batches, and writes it again"
)
IGNORED = "nothing: nodes ignore it; check what it is"


def partition_of(folder: Path) -> TopicPartition | None:
    """The partition that a directory is named for, None for another name."""
    match = FOLDER_NAME.fullmatch(folder.name)
    return TopicPartition(match["topic"], int(match["partition"])) if match else None


@dataclass(slots=True)
class PartitionFolder:
    """The names in one partition's directory.

    bases       base offsets of the segments, in order; the last one is the active one
    topic_id    from partition.metadata, empty where there is none
    """

    path: Path
    name: TopicPartition
    bases: list[int] = field(default_factory=list)
    topic_id: str = ""
    faults: list[Fault] = field(default_factory=list)


def list_partition(path: Path, name: TopicPartition) -> PartitionFolder:
    """Names, snapshots, metadata and leader epochs of a partition; raises OSError."""
    folder = PartitionFolder(path, name)
    findings = Findings(path)
    indexes: dict[int, str] = {}
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        file = entry.name
        if not entry.is_file():
            findings.note(-1, f"{file} is not a regular file", IGNORED)
            continue
        match = OFFSET_NAME.match(file)
        suffix = match.group(1) if match else ""
        if file.endswith(UNFINISHED_SUFFIXES):
            findings.note(-1, f"{file} is left from a write or a compaction that was interrupted", NEXT_START)
        elif file.endswith(DELETED_SUFFIX) or file in MARK_NAMES:
            continue  # the first is on its way out
        elif match and match.group(0) == file and suffix == LOG_SUFFIX:
            folder.bases.append(int(file[:20]))
        elif match and match.group(0) == file and suffix in SEGMENT_SUFFIXES:
            if suffix == SNAPSHOT_SUFFIX:
                folder.faults += _state_faults(path / file, "nothing: the node replays the log instead")
            else:
                indexes[int(file[:20])] = file
        elif file in STATE_NAMES:
            folder.faults += _state_faults(path / file, _ADVICE[file])
        else:
            findings.note(-1, f"{file} does not belong to a log", IGNORED)
    for base in sorted(indexes.keys() - set(folder.bases)):
        findings.note(-1, f"{indexes[base]} has no segment", NEXT_START)
    try:
        folder.topic_id = topic_id_of(path / PARTITION_METADATA_FILE)
    except (FileNotFoundError, HeadraceError):
        pass  # named above, where it is there
    folder.faults += findings.all()
    return folder


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What the checkpoints of the log directory say, by file name and partition."""

    offsets: Mapping[str, Mapping[TopicPartition, int]]

    def of(self, file: str, name: TopicPartition) -> int | None:
        return self.offsets.get(file, {}).get(name)


def overlaps(reports: Sequence[SegmentReport]) -> bool:
    """Whether a segment begins before the one in front of it ends."""
    return any(after.base_offset < before.next_offset and before.batches for before, after in pairwise(reports))


def join_segments(
    folder: PartitionFolder, reports: Sequence[SegmentReport], checkpoints: Checkpoints, log_dir: Path, is_running: bool
) -> list[Fault]:
    """What the reports of all segments, in order, say together."""
    findings = Findings(folder.path)
    is_compacted = checkpoints.of(CLEANER_OFFSET_FILE, folder.name) is not None
    for before, after in pairwise(reports):
        if after.base_offset < before.next_offset and before.batches:
            what = f"segment {before.base_offset} ends at {before.next_offset}, {after.base_offset} begins before that"
            findings.fault(-1, what, RESTORE)
        elif after.base_offset > before.next_offset and not is_compacted:
            what = f"offsets {before.next_offset} to {after.base_offset - 1} are in no segment"
            findings.note(-1, what, "compaction leaves such gaps; if the log was not compacted, a segment is missing")
    faults = findings.all()
    if reports:
        faults += _epoch_faults(folder, reports)
        if not is_running:  # a running node writes them now and then, and its log moves on
            faults += _checkpoint_faults(folder.name, reports[-1].next_offset, checkpoints, log_dir)
    return faults


def _epoch_faults(folder: PartitionFolder, reports: Sequence[SegmentReport]) -> list[Fault]:
    """Batches whose leader epoch the checkpoint gives to other offsets: followers would truncate wrongly."""
    path = folder.path / LEADER_EPOCH_FILE
    findings = Findings(path)
    try:
        known = read_leader_epochs(path)
    except (HeadraceError, OSError):
        return []  # named with the partition's files
    starts = [start for _epoch, start in known]
    for epoch, offset in (run for report in reports for run in report.epochs):
        place = bisect_right(starts, offset) - 1
        if not known:
            what = f"names no epoch, the batch at offset {offset} is of epoch {epoch}"
            findings.note(-1, what, f"nothing, if the log is older than leader epochs; otherwise {EPOCHS_ANEW}")
            break
        if place < 0:
            continue  # below the log's start
        if known[place][0] != epoch:
            what = f"the batch at offset {offset} is of epoch {epoch}, the file says epoch {known[place][0]}"
            findings.fault(-1, what, EPOCHS_ANEW)
            break
    return findings.all()


def _checkpoint_faults(name: TopicPartition, end_offset: int, checkpoints: Checkpoints, log_dir: Path) -> list[Fault]:
    faults = []
    for file, meaning in _CHECKPOINT_MEANINGS.items():
        offset = checkpoints.of(file, name)
        if offset is not None and offset > end_offset:
            what = f"{name}: {meaning} {offset}, the log ends at {end_offset}"
            faults.append(Fault(str(log_dir / file), -1, what, RESTORE))
    return faults


def _state_faults(path: Path, advice: str) -> list[Fault]:
    try:
        rows_of(path)
    except FileNotFoundError:
        pass  # deleted meanwhile
    except OSError as failure:
        return [Fault(str(path), -1, failure.strerror or str(failure))]
    except HeadraceError as failure:
        return [Fault(str(path), -1, str(failure).removeprefix(f"{path}: "), advice)]
    return []


_ADVICE = {
    LEADER_EPOCH_FILE: EPOCHS_ANEW,
    PARTITION_METADATA_FILE: "write the topic's id into it: kafka-topics --describe shows it",
}
_CHECKPOINT_MEANINGS = {
    RECOVERY_POINT_FILE: "was synced up to offset",
    REPLICATION_OFFSET_FILE: "was committed up to offset",
    LOG_START_OFFSET_FILE: "begins at offset",
}
