"""A range of one partition's offsets: what is read, and from where it can be read.

Runs in: Spark's driver (makes ranges) and Python workers (read them). The end was frozen at the high watermark, so that nothing is
read that could still be truncated.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

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
