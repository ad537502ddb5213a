"""A range, or the rest of one, fetched from the partition's leader.

Runs in: Spark's Python workers. It waits for an unavailable broker for the range's `patience_s`, the connector's
`kafkaConsumer.pollTimeoutMs`. The topic's id is compared before the first fetch and after the last, if the broker returns ids.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa

from headrace.arrow.errors import TopicRecreated
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.rows import Rows
from headrace.arrow.transactions import aborted_in_fetch
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition

_log = logging.getLogger("headrace.spark")


def read_remote(one: OffsetRange, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rest of the range from `rows.next_offset` on.

    raises   KafkaError OFFSET_OUT_OF_RANGE, if records are gone and `fails_on_data_loss`; TopicRecreated; ConnectionFailed
    """
    name = TopicPartition(one.topic, one.partition)
    with Cluster(one.bootstrap_servers, patience_s=one.patience_s) as cluster:
        cluster.retried(lambda: _check_topic(cluster, one), {one.topic})
        while rows.next_offset < one.end:
            try:
                for blob, aborted in cluster.fetch_with_aborted(name, rows.next_offset, one.end, one.read_committed):
                    data = np.frombuffer(blob, np.uint8)
                    rows.aborted = aborted_in_fetch(blob, aborted)
                    yield from rows.add(data, 0, len(data), f"fetch of {name}")
                rows.next_offset = one.end
            except KafkaError as failure:
                if failure.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise
                rows.next_offset = _after_loss(cluster, one, name, rows.next_offset)
        if one.topic_id:
            with suppress(KafkaError, ConnectionFailed):  # it was deleted after all was read, or can't be determined
                cluster.refresh([one.topic])
            _check_topic(cluster, one)


def _after_loss(cluster: Cluster, one: OffsetRange, name: TopicPartition, offset: int) -> int:
    """Where to continue when the log no longer has `offset`. raises KafkaError"""
    earliest = cluster.offsets({name: EARLIEST})[name]
    latest = cluster.offsets({name: LATEST})[name]
    what = f"{name}: offset {offset} of the range {one.start}..{one.end} is not in the log, which holds {earliest}..{latest}"
    if one.fails_on_data_loss or earliest <= offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{what}: records were deleted after the read was planned; load it again, or read what is left with "
            "failOnDataLoss=false (scan: fail_on_data_loss=False)",
        )
    _log.warning("records lost, continuing because failOnDataLoss=false: %s", what)
    return min(earliest, one.end)


def _check_topic(cluster: Cluster, one: OffsetRange) -> None:
    found = cluster.topic_ids.get(one.topic)
    if one.topic_id and found and found != one.topic_id:
        raise TopicRecreated(
            f"{one.topic}-{one.partition}: the topic was deleted and created again since this read was planned "
            f"(its id was {one.topic_id}, the cluster has {found} now); load it again"
        )
