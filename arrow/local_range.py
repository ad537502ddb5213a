"""A range read from segment files on this host.

Runs in: Spark's Python workers. The path in a range is a hint from the cluster; it is trusted only if `meta.properties` there names the
same cluster and broker (`broker.id`; `node.id` of a KRaft node), and a segment only if `partition.metadata` beside it, read after the
segment was opened, names the topic's id. What does not fit is left to the network: the generator ends early, and `rows.next_offset`
tells how far it came.

A file is mapped in windows of WINDOW_BYTES, so that a worker's address space and resident set don't count whole segments; where the
kernel refuses a mapping (a limit on memory), the window is read.

Compaction and retention work in the directory meanwhile:

    a segment is gone when it is opened           the rest comes over the network
    a segment was replaced by a merged one        offsets below `next_offset` are left out, none comes twice
    a replaced one is not in the listing          seen when its offsets are about to be passed over: the directory is listed again,
                                                  and a new name, or a swap in progress, sends the rest to the network
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.decode import whole_end
from headrace.arrow.errors import CorruptRange, TopicRecreated
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.page_residency import Residency
from headrace.arrow.rows import Rows
from headrace.arrow.transactions import aborted_in_files
from headrace.log.names import LOG_SUFFIX, SWAP_SUFFIX, bases_among
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.state.checkpoints import PARTITION_METADATA_FILE, read_partition_metadata
from headrace.properties import read_properties_file
from headrace.protocol.record_batch import LOG_OVERHEAD_BYTES, entry_bytes

WINDOW_BYTES = 64 << 20
READ_AHEAD_BYTES = (
    32 << 20
)  # more than the kernel does; it drops no folio in part, so what lies around goes with the next window

assert WINDOW_BYTES % mmap.ALLOCATIONGRANULARITY == 0


def local_directory(one: OffsetRange) -> Path | None:
    """The range's partition directory on this host, if one of its replicas is here and may be read."""
    for broker_id, _host, log_dir in one.replicas:
        directory = Path(log_dir) / f"{one.topic}-{one.partition}"
        try:
            if log_dir and is_directory_of(Path(log_dir), one.cluster_id, broker_id) and directory.is_dir():
                return directory
        except PermissionError:
            continue  # `planner.py` has told
    return None


def is_directory_of(log_dir: Path, cluster_id: str, broker_id: int) -> bool:
    """Whether this is the log directory, on this host, of a cluster's broker.

    raises   PermissionError, if it is here but not readable by this user
    """
    try:
        found = read_properties_file(log_dir / "meta.properties")
    except PermissionError:
        raise
    except (OSError, UnicodeDecodeError):
        return False
    return (found.get("cluster.id"), found.get("broker.id", found.get("node.id"))) == (cluster_id, str(broker_id))


def read_local(one: OffsetRange, directory: Path, rows: Rows) -> Iterator[pa.RecordBatch]:
    """What the files hold of the range, from `rows.next_offset` on.

    raises   TopicRecreated; what `Rows.add` raises
    """
    if one.read_committed:
        aborted = aborted_in_files(directory, rows.next_offset, one.end, one.decided)
        if aborted is None:
            return  # the leader knows
        rows.aborted = aborted
    try:
        bases, _is_swapping = _list(directory)
    except OSError:
        return  # renamed for deletion, or not readable by Spark's user
    if not bases or bases[0] > rows.next_offset:
        return  # retention was faster: the leader knows what is lost
    for index, base in enumerate(bases):
        following = bases[index + 1] if index + 1 < len(bases) else None
        if base >= one.end or (following is not None and following <= rows.next_offset):
            continue
        try:
            segment = SegmentFile(directory, base)
            topic_id = read_partition_metadata(directory / PARTITION_METADATA_FILE)
        except OSError:
            return
        if one.topic_id and topic_id != one.topic_id:
            if not topic_id:
                return  # being deleted, or not written yet: the leader knows
            raise TopicRecreated(
                f"{one.topic}-{one.partition}: the topic was deleted and created again since this read was planned "
                f"(its id was {one.topic_id}, {directory} has {topic_id}); load it again"
            )
        size = segment.size_bytes()
        if following is None and segment.find(one.end - 1, size) is None:
            return  # these files end below the range: ask the leader, rather than give less than was planned
        found = segment.find(rows.next_offset, size)
        if found is not None:
            yield from _read_segment(one, segment, found[0], size, rows)
        if following is None:
            rows.next_offset = one.end
        elif rows.next_offset < following:
            if rows.next_offset < one.end and not _is_gap(directory, rows.next_offset, following):
                return
            rows.next_offset = min(following, one.end)


def _list(directory: Path) -> tuple[list[int], bool]:
    """Base offsets of the segments, and whether a compacted one is going in. raises OSError"""
    names = os.listdir(directory)
    return bases_among(names, LOG_SUFFIX), any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in names)


def _is_gap(directory: Path, offset: int, following: int) -> bool:
    """Whether no segment holds offset <= o < following: compaction or an aborted batch left a gap, and no swap hides it."""
    try:
        bases, is_swapping = _list(directory)
    except OSError:
        return False
    return not is_swapping and following in bases and not any(offset <= base < following for base in bases)


def _read_segment(
    one: OffsetRange, segment: SegmentFile, position: int, size: int, rows: Rows
) -> Iterator[pa.RecordBatch]:
    where = str(segment.directory / f"{segment.base_offset:020d}{LOG_SUFFIX}")
    wanted = WINDOW_BYTES
    residency = None
    if one.gives_pages_back and not rows.are_views:
        residency = Residency(segment.fd, position - position % mmap.ALLOCATIONGRANULARITY)
    while position < size and rows.next_offset < one.end:
        origin = position - position % mmap.ALLOCATIONGRANULARITY
        end = min(origin + wanted, size)
        if residency is not None:
            residency.ask(min(end + READ_AHEAD_BYTES, size))
        data = _window(segment.fd, origin, end - origin)
        begin, stop = position - origin, end - origin
        if end < size:
            stop = whole_end(data, begin, stop, one.end)
            if stop == begin:
                has_length = len(data) - begin >= LOG_OVERHEAD_BYTES
                batch_bytes = entry_bytes(data, begin) if has_length else LOG_OVERHEAD_BYTES
                if end < position + batch_bytes <= size:  # more than the window holds
                    wanted = position + batch_bytes - origin
                    continue
                stop = end - origin  # past the range, or no batch: `add` tells
        yield from rows.add(data, begin, stop, where, origin)
        del data  # mapped pages are not given back
        if residency is not None:
            residency.give_back(position - READ_AHEAD_BYTES, origin + stop)
        position = origin + stop
        wanted = WINDOW_BYTES
    if residency is not None:
        residency.give_back(position - READ_AHEAD_BYTES, position + READ_AHEAD_BYTES)


def _window(fd: int, origin: int, length: int) -> Any:
    """Bytes of a file, mapped; read, where they can't be mapped. Unmapped when the last view of them goes: a query that stops
    early closes this generator with views still out."""
    try:
        mapped = mmap.mmap(fd, length, access=mmap.ACCESS_READ, offset=origin)
    except OSError:
        data = bytearray(length)
        view = memoryview(data)
        done = 0
        while done < length:
            count = os.preadv(fd, [view[done:]], origin + done)
            if not count:
                raise CorruptRange(f"a segment was truncated at byte {origin + done} while it was read") from None
            done += count
        return np.frombuffer(view.toreadonly(), np.uint8)
    mapped.madvise(mmap.MADV_SEQUENTIAL)
    return np.frombuffer(mapped, np.uint8)
