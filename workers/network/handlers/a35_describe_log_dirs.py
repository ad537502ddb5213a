"""DescribeLogDirs (key 35), v0 to v4: which directory holds which partition, how large, and what is being moved there.

Spark's planner asks this to find segment files on its own host. A directory that failed says KAFKA_STORAGE_ERROR. The lag
of a copy (`isFutureKey`) is as exact as its offset index: within `index.interval.bytes`.

Source: Kafka `ReplicaManager.describeLogDirs`; KIP-113, KIP-827 for the volume's sizes.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import ErrorCode
from headrace.log.index_layout import OFFSET_ENTRY
from headrace.log.names import FUTURE_SUFFIX, INDEX_SUFFIX, LOG_SUFFIX, copied_partition, path_of, segment_bases
from headrace.log.reading.index_reader import IndexReader
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.routes import Route

_Result = messages.DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = messages.DescribeLogDirsResponse.DescribeLogDirsTopic
_Partition = messages.DescribeLogDirsResponse.DescribeLogDirsPartition


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """One result for each log directory."""
    request = decode_request(ApiKey.DESCRIBE_LOG_DIRS, exchange.api_version, body)
    if request.topics is None:
        wanted = dict.fromkeys(context.view.topics)
    else:
        wanted = {topic.topic: set(topic.partitions) for topic in request.topics}
    results = [_describe(context, path, wanted) for path in context.settings["log.dirs"]]
    response = messages.DescribeLogDirsResponse(results=results)
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_LOG_DIRS, exchange.api_version, response))


def _describe(context: Context, path: str, wanted: dict[str, set[int] | None]) -> _Result:
    wiring = context.seat.wiring
    log_dir = Path(path)
    try:
        is_offline = path in wiring.offline_directories or wiring.log_dir_bit(path) & context.seat.offline_dirs()
        volume = None if is_offline else os.statvfs(log_dir)
        names = [] if is_offline else os.listdir(log_dir)
    except OSError:
        volume = None
    if volume is None:
        return _Result(error_code=int(ErrorCode.KAFKA_STORAGE_ERROR), log_dir=os.path.realpath(log_dir), topics=[])
    present = set(names)
    copies = {_copied(log_dir / name): name for name in names if name.endswith(FUTURE_SUFFIX)}
    topics = []
    for topic, indexes in wanted.items():
        partitions = []
        for route in context.routes.topic(topic) or []:
            if route.slot < 0 or (indexes is not None and route.index not in indexes):
                continue
            name = f"{topic}-{route.index}"
            if name in present:
                row = context.seat.partitions.read(route.slot)
                size_bytes = row.size_bytes if row is not None else 0
                partitions.append(_Partition(partition_index=route.index, partition_size=size_bytes, offset_lag=0))
            if name in copies:
                partitions.append(_describe_copy(context, route, log_dir / copies[name]))
        if partitions:
            topics.append(_Topic(name=topic, partitions=partitions))
    return _Result(
        error_code=0,
        log_dir=os.path.realpath(log_dir),
        topics=topics,
        total_bytes=volume.f_blocks * volume.f_frsize,
        usable_bytes=volume.f_bavail * volume.f_frsize,
    )


def _copied(directory: Path) -> str:
    try:
        return copied_partition(directory)
    except OSError:
        return ""  # it is there by now, or given up


def _describe_copy(context: Context, route: Route, directory: Path) -> _Partition:
    """A replica that moves here: its owner writes it just now."""
    size_bytes = end_offset = 0
    try:
        bases = segment_bases(directory)
        size_bytes = sum(os.stat(path_of(directory, base, LOG_SUFFIX)).st_size for base in bases)
        if bases:
            index = IndexReader(path_of(directory, bases[-1], INDEX_SUFFIX), OFFSET_ENTRY)
            last = index.last()
            index.close()
            end_offset = bases[-1] + (last[0] + 1 if last is not None else 0)
    except OSError:
        pass  # it is there by now, or given up
    row = context.seat.partitions.read(route.slot)
    log_end_offset = row.log_end_offset if row is not None else end_offset
    return _Partition(
        partition_index=route.index,
        partition_size=size_bytes,
        offset_lag=max(0, log_end_offset - end_offset),
        is_future_key=True,
    )
