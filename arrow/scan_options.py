"""What to read of which topics, between which bounds: what a plan is made of.

`headrace.arrow.open` fills it in, and Spark's side from the options of the `kafka` source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headrace.arrow.offset_range import PATIENCE_S
from headrace.client.cluster import EARLIEST, LATEST
from headrace.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of the offsets to read.

    offsets      by partition: an offset, EARLIEST or LATEST
    timestamps   by partition, in milliseconds
    default      for partitions that neither names
    timestamp    for all partitions, instead of the rest
    option       that gave the offsets or timestamps, and must name every partition that is read; '' if it need not
    """

    default: int = EARLIEST
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamps: Mapping[TopicPartition, int] = field(default_factory=dict)
    timestamp: int | None = None
    option: str = ""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What to read.

    splits           also without `min_partitions`, into as many ranges as there are cores
    counts_empty     a partition without records has a range, and counts against `min_partitions`: as in a batch of the connector
    attempts         attempts at planning, each waits for an unavailable broker
    retry_pause_s    between two attempts at such a broker
    patience_s       of a task for an unavailable broker
    where            a filter over columns of `where_schema`: what it excludes is not planned; the reader applies it to the rest
    """

    bootstrap_servers: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()
    start: Bound = Bound(EARLIEST)
    end: Bound = Bound(LATEST)
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    fails_on_data_loss: bool = True
    includes_headers: bool = False
    unmatched_timestamp_is_latest: bool = False  # startingOffsetsByTimestampStrategy=latest
    read_committed: bool = False
    checks_crcs: bool = True
    columns: tuple[str, ...] | None = None
    splits: bool = False
    counts_empty: bool = False
    attempts: int = 3
    retry_pause_s: float = 1.0
    patience_s: float = PATIENCE_S
    gives_pages_back: bool = True
    where: Any = field(default=None, compare=False)
    where_schema: pa.Schema | None = field(default=None, compare=False)
