"""A range of one partition's offsets, and how to read it: from the local page cache, or over the network.

Runs in: Spark's driver (makes ranges) and Python workers (read them). The end was frozen at the high watermark, so that nothing is
read that could still be truncated; files that are not local, or are removed during the read, fall back to the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from headrace.arrow.decode import tell_if_slow
from headrace.arrow.local_range import local_directory, read_local
from headrace.arrow.remote_range import read_remote
from headrace.arrow.rows import Rows
from headrace.arrow.tally import Tally

ROWS_PER_BATCH = 50_000
PATIENCE_S = 120.0  # the connector's: kafkaConsumer.pollTimeoutMs, which is spark.network.timeout


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets `start` <= offset < `end` of a partition.

    replicas             (broker id, host, log directory) of in-sync replicas; the directory is '' if the broker did not return it
    fails_on_data_loss   False: offsets that retention removed since planning are skipped
    read_committed       batches of aborted transactions are left out
    topic_id             32 hex digits; '' if the cluster has none
    checks_crcs          verify the checksum of every batch
    patience_s           how long to wait for an unavailable broker
    decided              with read_committed: the high watermark when planned; markers that decide about the range lie below it
    gives_pages_back     what of the files was not in the page cache is dropped from it after it was read (not if read as views)
    """

    topic: str
    partition: int
    start: int
    end: int
    bootstrap_servers: str
    cluster_id: str
    replicas: tuple[tuple[int, str, str], ...] = ()
    fails_on_data_loss: bool = True
    read_committed: bool = False
    topic_id: str = ""
    checks_crcs: bool = True
    patience_s: float = PATIENCE_S
    decided: int = 0
    gives_pages_back: bool = True

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> OffsetRange:
        fields = json.loads(data)
        fields["replicas"] = tuple(tuple(replica) for replica in fields["replicas"])
        return cls(**fields)


def read_range(
    one: OffsetRange,
    columns: Sequence[str],
    rows_per_batch: int = ROWS_PER_BATCH,
    are_views: bool = False,
    tally: Tally | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of a range as Arrow batches.

    are_views   keys and values are views into mapped files, not copies (`views.py`)
    tally       counts the bytes, as they are read

    raises      CorruptRange, naming file and position; TopicRecreated; TimestampOverflow; KafkaError
                or ConnectionFailed over the network
    """
    tell_if_slow()
    rows = Rows(one, columns, rows_per_batch, are_views)
    if tally is not None:
        rows.tally = tally
    directory = local_directory(one)
    if directory is not None:
        yield from read_local(one, directory, rows)
    if rows.next_offset < one.end:
        rows.is_remote = True
        yield from read_remote(one, rows)
    yield from rows.finish()
