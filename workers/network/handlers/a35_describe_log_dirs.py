"""DescribeLogDirs (key 35), v0 to v4: which directory holds which partition, and how large.

Spark's planner asks this to find segment files on its own host.

Source: Kafka `ReplicaManager.describeLogDirs`; KIP-827 for the volume's sizes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange

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
    results = [_describe(context, Path(path), wanted) for path in context.settings["log.dirs"]]
    response = messages.DescribeLogDirsResponse(results=results)
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_LOG_DIRS, exchange.api_version, response))


def _describe(context: Context, log_dir: Path, wanted: dict[str, set[int] | None]) -> Any:
    try:
        volume = os.statvfs(log_dir)
    except OSError:
        return _Result(error_code=int(ErrorCode.KAFKA_STORAGE_ERROR), log_dir=str(log_dir), topics=[])
    topics = []
    for name, indexes in wanted.items():
        partitions = []
        for route in context.routes.topic(name) or []:
            is_wanted = route.slot >= 0 and (indexes is None or route.index in indexes)
            if not is_wanted or not (log_dir / f"{name}-{route.index}").is_dir():
                continue
            row = context.seat.partitions.read(route.slot)
            size_bytes = row.size_bytes if row is not None else 0
            partitions.append(_Partition(partition_index=route.index, partition_size=size_bytes))
        if partitions:
            topics.append(_Topic(name=name, partitions=partitions))
    return _Result(
        error_code=0,
        log_dir=os.path.realpath(log_dir),
        topics=topics,
        total_bytes=volume.f_blocks * volume.f_frsize,
        usable_bytes=volume.f_bavail * volume.f_frsize,
    )
