"""What `headrace dump-log` shows of a file, as plain dictionaries, one after the other.

    type            of
    -------------   -----------------------------------------------------------
    file            each file, first: path, kind
    batch, record   segments; records if asked, keys and values if asked
    message-07      segments of Kafka 0.7 (.kafka); what they carry if asked
    index-entry     indexes, as are time-index-entry and aborted
    producer        snapshots
    checkpoint      checkpoint files, as are leader-epoch, partition-metadata and meta-properties
    fault, note     findings: position, what, advice
    end             each file, last: what was counted

Every value is a number, a string, a list or a dictionary, so that a line of JSON holds it. Segments are read in windows;
nothing is kept of them.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.limits import MESSAGE_07_BYTES_MAX
from headrace.log.index_layout import TXN_ENTRY, TXN_VERSION
from headrace.log.inspection.entry_scan import Entry, EntryScan
from headrace.log.inspection.fault import Fault, Findings
from headrace.log.inspection.index_audit import REBUILD, OffsetIndexAudit, TimeIndexAudit, check_size
from headrace.log.inspection.index_entries import aborted_entries, offset_entries, time_entries
from headrace.log.inspection.records import entry_records, marker_of
from headrace.log.inspection.state_files import rows_of
from headrace.log.kafka07.log_07 import SEGMENT_SUFFIX_07, Damage, read_segment_07
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX
from headrace.protocol.compression import Codec
from headrace.protocol.message_07 import Message07, payloads_of
from headrace.protocol.record_batch import FLAGS, MAGIC_V2, Record

Item = dict[str, Any]
INDEX_KINDS = {INDEX_SUFFIX: "offset-index", TIME_INDEX_SUFFIX: "time-index"}


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """What to show of a file.

    is_deep      decode records
    has_data     keys and values as well
    is_verify    of indexes the findings only
    bytes_max    of each segment; 0: all
    skips        continue after bytes that hold no valid batch, where the next one begins
    """

    is_deep: bool = False
    has_data: bool = False
    is_verify: bool = False
    bytes_max: int = 0
    skips: bool = False


def dump(path: Path, options: DumpOptions) -> Iterator[Item]:
    """The items of one file. A file that can't be read is a fault, not an error."""
    kind = kind_of(path)
    yield {"type": "file", "path": str(path), "kind": kind}
    try:
        if kind == "segment":
            yield from _segment(path, options)
        elif kind == "segment-07":
            yield from _segment_07(path, options)
        elif kind in INDEX_KINDS.values():
            yield from _index(path, kind, options)
        elif kind == "transaction-index":
            yield from _aborted(path)
        else:
            yield from _state_file(path)
    except OSError as failure:
        yield _finding(Fault(str(path), -1, failure.strerror or str(failure)))
    except HeadraceError as failure:
        yield _finding(Fault(str(path), -1, str(failure).removeprefix(f"{path}: ")))


def kind_of(path: Path) -> str:
    """What a file is, by its name."""
    if path.suffix == LOG_SUFFIX:
        return "segment"
    if path.suffix == SEGMENT_SUFFIX_07:
        return "segment-07"
    if path.suffix == TXN_INDEX_SUFFIX:
        return "transaction-index"
    return INDEX_KINDS.get(path.suffix, "state")


def base_offset_of(path: Path) -> int:
    """The offset that a file is named for; raises HeadraceError."""
    stem = path.name.partition(".")[0]
    if not (stem.isascii() and stem.isdigit()):
        raise HeadraceError(f"{path}: its name does not begin with an offset, which its entries are relative to")
    return int(stem)


def _segment(path: Path, options: DumpOptions) -> Iterator[Item]:
    findings = Findings(path)
    counts = {"batches": 0, "records": 0, "invalid": 0}
    next_offset = base_offset_of(path)
    with open(path, "rb", buffering=0) as file:
        fd = file.fileno()
        size = os.fstat(fd).st_size
        scan = EntryScan(fd, 0, min(size, options.bytes_max) if options.bytes_max else size)
        for entry in _entries(scan, options.skips, findings, next_offset):
            counts["batches"] += 1
            counts["records"] += max(entry.record_count, 0)
            counts["invalid"] += not entry.is_valid
            yield batch_item(entry)
            first = entry.base_offset if entry.base_offset >= 0 else entry.last_offset
            if not entry.is_valid:
                findings.fault(entry.position, "its checksum is wrong")
            elif first < next_offset:
                findings.fault(entry.position, f"offset {first} follows {next_offset - 1}")
            next_offset = max(next_offset, entry.last_offset + 1)
            if options.is_deep or options.has_data:
                yield from _records(fd, entry, options, findings)
            yield from _take(findings)
    if scan.stopped and not options.bytes_max:
        yield _finding(Fault(str(path), scan.end, f"{size - scan.end} bytes after the last batch: {scan.stopped}"))
    yield {"type": "end", "bytes": scan.end, "next_offset": next_offset, **counts}


def _entries(scan: EntryScan, skips: bool, findings: Findings, base_offset: int) -> Iterator[Entry]:
    """What a scan finds; where bytes that are no entry may be skipped, what it finds after them as well. raises OSError"""
    while True:
        last_offset = base_offset - 1
        for entry in scan:
            last_offset = max(last_offset, entry.last_offset)
            yield entry
        stopped, begun = scan.stopped, scan.end
        if not (skips and stopped and scan.skip(last_offset)):
            return
        findings.fault(begun, f"{scan.end - begun} bytes hold no valid batch: {stopped}", f"skipped to byte {scan.end}")


def _segment_07(path: Path, options: DumpOptions) -> Iterator[Item]:
    """Offsets are bytes, counted from the segment's name."""
    findings = Findings(path)
    base = base_offset_of(path)
    counts = {"messages": 0, "payloads": 0, "invalid": 0}
    damages: list[Damage] = []
    end = 0
    for position, message in read_segment_07(path, base, 0, False, damages.append):
        end = position + message.size
        if options.bytes_max and end > options.bytes_max:
            break
        counts["messages"] += 1
        counts["invalid"] += not message.is_valid
        yield {
            "type": "message-07", "position": position, "size": message.size, "magic": message.magic,
            "offset": base + position, "codec": _codec_name(message.codec), "crc": message.crc,
            "is_valid": message.is_valid,
        }  # fmt: skip
        if not message.is_valid:
            findings.fault(position, "its checksum is wrong")
        elif options.is_deep or options.has_data:
            yield from _payloads_07(position, message, options, findings, counts)
        yield from _take(findings)
    for damage in damages:
        yield _finding(Fault(str(path), damage.place.position, damage.what))
    yield {"type": "end", "bytes": end, **counts}


def _payloads_07(
    position: int, message: Message07, options: DumpOptions, findings: Findings, counts: dict[str, int]
) -> Iterator[Item]:
    def damaged(inner: int, what: str) -> None:
        findings.fault(position, f"message {inner} of the set: {what}")

    try:
        payloads = payloads_of(message, MESSAGE_07_BYTES_MAX, damaged)
    except HeadraceError as failure:
        findings.fault(position, f"the set can't be read: {failure}")
        return
    counts["payloads"] += len(payloads)
    for inner, payload in enumerate(payloads):
        if payload is not None:
            item: Item = {"type": "payload-07", "inner": inner, "value_size": len(payload)}
            yield item | ({"value": data_item(payload)} if options.has_data else {})


def _codec_name(codec: int) -> str:
    return Codec(codec).name.lower() if codec <= Codec.ZSTD else str(codec)


def batch_item(entry: Entry) -> Item:
    """A batch as an item; what its format lacks is left out."""
    item: Item = {
        "type": "batch", "position": entry.position, "size": entry.size, "magic": entry.magic,
        "base_offset": entry.base_offset, "last_offset": entry.last_offset, "count": entry.record_count,
        "codec": _codec_name(entry.codec),
    }  # fmt: skip
    if entry.magic:
        item["timestamp_type"] = "LogAppendTime" if entry.is_log_append_time else "CreateTime"
        item["max_timestamp_ms"] = entry.max_timestamp
    if entry.magic == MAGIC_V2:
        item |= {
            "leader_epoch": entry.leader_epoch, "producer_id": entry.producer_id,
            "producer_epoch": entry.producer_epoch, "base_sequence": entry.base_sequence,
        }  # fmt: skip
        item |= {f"is_{name}": bool(entry.attributes & bit) for name, bit in FLAGS.items()}
        item["delete_horizon_ms"] = entry.delete_horizon_ms
    return item | {"crc": entry.crc, "is_valid": entry.is_valid}


def _records(fd: int, entry: Entry, options: DumpOptions, findings: Findings) -> Iterator[Item]:
    try:
        for record in entry_records(fd, entry):
            item = record_item(record, options.has_data)
            if entry.base_sequence >= 0:
                item["sequence"] = (entry.base_sequence + record.offset - entry.base_offset) & 0x7FFFFFFF
            if entry.is_control:
                marker = marker_of(record)
                if marker is not None:
                    item["marker"] = "COMMIT" if marker.is_commit else "ABORT"
                    item["coordinator_epoch"] = marker.coordinator_epoch
            yield item
    except HeadraceError as failure:
        advice = f"consumers continue at offset {entry.last_offset + 1}"
        findings.fault(entry.position, f"its records can't be read: {failure}", advice)


def record_item(record: Record, has_data: bool) -> Item:
    """A record as an item; a size of -1 is null."""
    item: Item = {
        "type": "record", "offset": record.offset, "timestamp_ms": record.timestamp_ms,
        "key_size": -1 if record.key is None else len(record.key),
        "value_size": -1 if record.value is None else len(record.value),
        "header_keys": [name for name, _content in record.headers],
    }  # fmt: skip
    if has_data:
        item["key"] = data_item(record.key)
        item["value"] = data_item(record.value)
        item["headers"] = [[name, data_item(content)] for name, content in record.headers]
    return item


def data_item(data: bytes | None) -> str | Item | None:
    """Bytes as text, if they are UTF-8, as {"base64": ...} if they are not."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _index(path: Path, kind: str, options: DumpOptions) -> Iterator[Item]:
    base_offset = base_offset_of(path)
    count = 0
    if kind == "offset-index":
        for indexed in offset_entries(path, base_offset):
            count += 1
            if not options.is_verify:
                yield {"type": "index-entry", "offset": indexed.offset, "position": indexed.position}
    else:
        for timed in time_entries(path, base_offset):
            count += 1
            if not options.is_verify:
                yield {"type": "time-index-entry", "timestamp_ms": timed.timestamp_ms, "offset": timed.offset}
    yield from _audit(path, base_offset, kind)
    yield {"type": "end", "entries": count}


def _audit(path: Path, base_offset: int, kind: str) -> Iterator[Item]:
    """Hold an index against the segment beside it."""
    audit = (OffsetIndexAudit if kind == "offset-index" else TimeIndexAudit)(path, base_offset, is_each=True)
    try:
        with open(path.with_suffix(LOG_SUFFIX), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            scan = EntryScan(file.fileno(), 0, size, is_checked=False)
            for entry in scan:
                audit.saw(entry)
            if not scan.stopped:
                audit.finish(size, is_active=not _has_next(path, base_offset))
    except FileNotFoundError:
        audit.findings.fault(-1, f"there is no {path.stem}{LOG_SUFFIX} beside it to compare with")
    yield from map(_finding, audit.findings.all())


def _has_next(path: Path, base_offset: int) -> bool:
    """Whether a segment follows: a rolled one has its largest timestamp in the time index."""
    return any(
        int(name.partition(".")[0]) > base_offset
        for name in os.listdir(path.parent)
        if name.endswith(LOG_SUFFIX) and name.partition(".")[0].isdigit()
    )


def _aborted(path: Path) -> Iterator[Item]:
    findings = Findings(path)
    check_size(findings, TXN_ENTRY)
    count = 0
    for one in aborted_entries(path):
        count += 1
        yield {"type": "aborted", **{key: value for key, value in one._asdict().items() if key != "place"}}
        if one.version != TXN_VERSION:
            findings.fault(one.place, f"version {one.version}, expected {TXN_VERSION}", REBUILD)
        yield from _take(findings)
    yield from _take(findings)
    yield {"type": "end", "entries": count}


def _state_file(path: Path) -> Iterator[Item]:
    kind, rows = rows_of(path)
    if not kind:
        yield _finding(Fault(str(path), -1, _why_unknown(path)))
        return
    for row in rows:
        yield {"type": kind, **row}
    yield {"type": "end", "entries": len(rows)}


def _why_unknown(path: Path) -> str:
    if path.is_dir():
        return "is a directory: pass the files in it, or use `headrace verify`"
    return "its name is not recognized" if path.exists() else "No such file or directory"


def _take(findings: Findings) -> Iterator[Item]:
    """What was found since the last call."""
    found, findings.faults = findings.faults, []
    return map(_finding, found)


def _finding(fault: Fault) -> Item:
    item: Item = {"type": "note" if fault.is_note else "fault", "path": fault.path, "position": fault.position}
    item["what"] = fault.what
    return item | ({"advice": fault.advice} if fault.advice else {})
