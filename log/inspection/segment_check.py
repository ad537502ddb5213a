"""One segment, read once from end to end: checksums, offsets, both indexes, transaction index; the records too, if asked.

    what stops the walk       active segment of a running node   active, after a crash   anything else
    -----------------------   --------------------------------   ---------------------   -------------
    an entry that is cut      it is being written                note: the start cuts    fault
    bytes that are no entry   fault                              note below              fault
    a wrong checksum          fault, unless it is the last one   note, if nothing whole follows it

Behind bytes that are no entry the walk goes on where the offset index says that a batch begins, so that one bad place does
not hide the rest. Reads only; runs beside a node, whose active segment ends where it ended when the check began.

Source: Kafka `LogSegment.recover`, `DumpLogSegments`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.limits import INSPECTED_ABORTS_MAX, INSPECTED_EPOCHS_MAX, PROBES_MAX
from headrace.log.index_layout import RELATIVE_OFFSET_MAX, TXN_ENTRY, TXN_VERSION
from headrace.log.inspection.entry_scan import Entry, EntryScan
from headrace.log.inspection.fault import Fault, Findings
from headrace.log.inspection.index_audit import REBUILD, OffsetIndexAudit, TimeIndexAudit, check_size
from headrace.log.inspection.index_entries import aborted_entries, offset_entries
from headrace.log.inspection.records import entry_records, marker_of
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, path_of

RESTORE = "restore the segment from another replica or a backup: the node can't recover what is lost here"
CUT_AT_START = "nothing: the next start of the node truncates it"

Progress = Callable[[int], None]  # bytes done since the last call


@dataclass(frozen=True, slots=True)
class SegmentCheck:
    """What to check, and how.

    is_active    the last segment of its log
    is_running   a node has the directory open
    is_clean     the last stop was clean: nothing may be torn
    is_deep      decode every record
    """

    directory: Path
    base_offset: int
    is_active: bool = False
    is_running: bool = False
    is_clean: bool = False
    is_deep: bool = False


@dataclass(slots=True)
class SegmentReport:
    """What was found.

    next_offset   after the last valid batch
    epochs        (leader epoch, first offset) of each run of batches of one epoch, in order
    end           byte after the last valid batch
    """

    base_offset: int
    size_bytes: int = 0
    next_offset: int = -1
    end: int = 0
    batches: int = 0
    records: int = 0
    epochs: list[tuple[int, int]] = field(default_factory=list)
    aborts: dict[int, int] = field(default_factory=dict)  # offset of an abort marker: producer id
    faults: list[Fault] = field(default_factory=list)


class _Walk:
    """The pass over one segment."""

    def __init__(self, check: SegmentCheck, fd: int, progress: Progress) -> None:
        self._check = check
        self._fd = fd
        self._progress = progress
        path = path_of(check.directory, check.base_offset, LOG_SUFFIX)
        self._findings = Findings(path)
        self.report = SegmentReport(check.base_offset, next_offset=check.base_offset)
        self._audits: list[OffsetIndexAudit | TimeIndexAudit] = []
        self._index_findings: list[Findings] = []
        for suffix, audit in ((INDEX_SUFFIX, OffsetIndexAudit), (TIME_INDEX_SUFFIX, TimeIndexAudit)):
            index = path_of(check.directory, check.base_offset, suffix)
            try:
                self._audits.append(audit(index, check.base_offset))
            except FileNotFoundError:
                missing = Findings(index)
                missing.note(-1, "is missing", "nothing: the next start of the node rebuilds it from the segment")
                self._index_findings.append(missing)
        self._index_findings += [audit.findings for audit in self._audits]
        self._suspect: Entry | None = None  # the last entry, where its checksum is wrong
        self._is_whole = True

    def run(self) -> SegmentReport:
        """raises   OSError"""
        size = self.report.size_bytes = os.fstat(self._fd).st_size
        position = 0
        while position < size:
            scan = EntryScan(self._fd, position, size)
            for entry in scan:
                self._saw(entry)
                self._progress(entry.size)
            if not scan.stopped:
                break
            self._is_whole = False
            position = self._after_stop(scan, size)
        self._judge_last(size)
        if self._is_whole:
            for audit in self._audits:
                audit.finish(size, self._check.is_active)
            self._check_aborted()
        self.report.faults = self._findings.all()
        for findings in self._index_findings:
            self.report.faults += findings.all()
        return self.report

    def _saw(self, entry: Entry) -> None:
        if self._suspect is not None:
            self._bad_checksum(self._suspect)
            self._suspect = None
        if not entry.is_valid:
            self._suspect = entry
            for audit in self._audits:
                if isinstance(audit, OffsetIndexAudit):
                    audit.pass_over(entry)
            return
        report = self.report
        if self._check_offsets(entry):
            report.next_offset = entry.last_offset + 1
        report.end = entry.position + entry.size
        report.batches += 1
        report.records += max(entry.record_count, 0)
        is_new_epoch = entry.leader_epoch >= 0 and (not report.epochs or report.epochs[-1][0] != entry.leader_epoch)
        if is_new_epoch and len(report.epochs) < INSPECTED_EPOCHS_MAX:
            report.epochs.append((entry.leader_epoch, entry.base_offset))
        for audit in self._audits:
            audit.saw(entry)
        if entry.is_control or self._check.is_deep:
            self._check_records(entry)

    def _check_offsets(self, entry: Entry) -> bool:
        """Whether the offsets of an entry follow those before it and fit into the segment."""
        first = entry.base_offset if entry.base_offset >= 0 else entry.last_offset
        if first < self.report.next_offset:
            what = f"offsets {first} to {entry.last_offset} follow {self.report.next_offset - 1}"
        elif entry.last_offset < first:
            what = f"the batch at offset {first} ends before it begins, at {entry.last_offset}"
        elif entry.last_offset - self._check.base_offset > RELATIVE_OFFSET_MAX:
            what = f"offset {entry.last_offset} is too far from the segment's first one for its indexes"
        else:
            return True
        self._findings.fault(entry.position, what, RESTORE)
        return False

    def _check_records(self, entry: Entry) -> None:
        """Decode the records: their number and offsets, and the end of a transaction."""
        count, last_offset = 0, entry.base_offset - 1
        try:
            for record in entry_records(self._fd, entry):
                count += 1
                if not last_offset < record.offset <= entry.last_offset:
                    self._findings.fault(entry.position, f"record {record.offset} follows {last_offset}", RESTORE)
                    return
                last_offset = record.offset
                if entry.is_control:
                    marker = marker_of(record)
                    if marker is not None and not marker.is_commit and len(self.report.aborts) < INSPECTED_ABORTS_MAX:
                        self.report.aborts[record.offset] = entry.producer_id
            self.report.records += count if entry.record_count < 0 else 0
        except HeadraceError as failure:
            what = f"the records of the batch at offset {entry.base_offset} can't be read: {failure}"
            self._findings.fault(entry.position, what, RESTORE)

    def _after_stop(self, scan: EntryScan, size: int) -> int:
        """Name what stopped the walk; returns where it goes on."""
        check = self._check
        following = self._indexed_after(scan.end)
        what = f"{size - scan.end} bytes: {scan.stopped}" if following < 0 else scan.stopped
        if following >= 0:
            self._findings.fault(scan.end, f"{what}; {following - scan.end} bytes are lost", RESTORE)
            return following
        if check.is_active and scan.is_torn and check.is_running:
            pass  # it is being written
        elif check.is_active and not check.is_clean and not check.is_running:
            self._findings.note(scan.end, f"no batch after this byte: {what}", CUT_AT_START)
        else:
            self._findings.fault(scan.end, f"no batch after this byte: {what}", RESTORE)
        return size

    def _indexed_after(self, end: int) -> int:
        """Where the offset index says that a batch begins, after a byte, and one does; -1: nowhere."""
        index = path_of(self._check.directory, self._check.base_offset, INDEX_SUFFIX)
        probes = 0
        try:
            for indexed in offset_entries(index, self._check.base_offset):
                if indexed.position <= end:
                    continue
                probes += 1
                if probes > PROBES_MAX:
                    break
                probe = EntryScan(self._fd, indexed.position, self.report.size_bytes)
                entry = next(iter(probe), None)
                if entry is not None and entry.is_valid and entry.last_offset == indexed.offset:
                    return indexed.position
        except FileNotFoundError:
            pass
        return -1

    def _judge_last(self, size: int) -> None:
        """A wrong checksum with nothing after it may be a write under way, or one that a crash cut short."""
        last, check = self._suspect, self._check
        if last is None:
            return
        if check.is_active and check.is_running:
            return
        if check.is_active and not check.is_clean:
            what = f"the last batch has a wrong checksum, {size - last.position} bytes"
            self._findings.note(last.position, what, CUT_AT_START)
        else:
            self._bad_checksum(last)

    def _bad_checksum(self, entry: Entry) -> None:
        what = (
            f"the checksum of the batch at offset {entry.last_offset if entry.base_offset < 0 else entry.base_offset}"
        )
        self._findings.fault(entry.position, f"{what}, {entry.size} bytes, is wrong", RESTORE)

    def _check_aborted(self) -> None:
        """The transaction index: each entry needs its abort marker."""
        path = path_of(self._check.directory, self._check.base_offset, TXN_INDEX_SUFFIX)
        findings = Findings(path)
        self._index_findings.append(findings)
        try:
            check_size(findings, TXN_ENTRY)
            for one in aborted_entries(path):
                marker = self.report.aborts.get(one.last_offset)
                if one.version != TXN_VERSION:
                    findings.fault(one.place, f"version {one.version}, expected {TXN_VERSION}", REBUILD)
                elif one.first_offset > one.last_offset:
                    findings.fault(one.place, f"offsets {one.first_offset} to {one.last_offset}", REBUILD)
                elif marker != one.producer_id and one.last_offset < self.report.next_offset:
                    what = f"no abort marker of producer {one.producer_id} at offset {one.last_offset}"
                    findings.fault(one.place, what, REBUILD)
        except FileNotFoundError:
            pass  # most segments have none


def check_segment(check: SegmentCheck, progress: Progress = lambda _done: None) -> SegmentReport:
    """Read one segment and say what is wrong with it.

    progress   called with the bytes done, now and then
    raises     FileNotFoundError, where it has been deleted; OSError, where it can't be read
    """
    path = path_of(check.directory, check.base_offset, LOG_SUFFIX)
    with open(path, "rb", buffering=0) as file:
        return _Walk(check, file.fileno(), progress).run()
