"""The topics of a round of the cluster campaign, beside those that come and go (`topic_churn.py`).

Used by: the cluster campaign.

    stable    six partitions on all nodes: several clients' producers, consumers that read on and on, a group
    moving    two replicas of each partition, moved between the nodes while it is written; also three for a while
    keyed     compacted while it is written; judged by the last values of its keys
    trimmed   DeleteRecords while it is written
    transacted, copied   written in transactions (`transactional_load.py`)
    flushed   synced before its appends are acknowledged (a setting of ours)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REPLICAS = 3


@dataclass(frozen=True, slots=True)
class RoundTopic:
    """One of them.

    is_ours   it has settings that Apache Kafka does not know
    """

    name: str
    partitions: int
    replicas: int = REPLICAS
    configs: Mapping[str, str] = field(default_factory=dict)
    is_ours: bool = False

    @property
    def is_compacted(self) -> bool:
        return self.configs.get("cleanup.policy") == "compact"


STABLE = RoundTopic("stable", 6)
MOVING = RoundTopic("moving", 4, replicas=2)
KEYED = RoundTopic(
    "keyed",
    2,
    configs={
        "cleanup.policy": "compact",
        "segment.bytes": "20000",
        "min.cleanable.dirty.ratio": "0.1",
    },
)
TRIMMED = RoundTopic("trimmed", 2, configs={"segment.bytes": "20000"})
FLUSHED = RoundTopic("flushed", 2, configs={"headrace.flush.before.ack": "true"}, is_ours=True)
TRANSACTED = RoundTopic("transacted", 3)
COPIED = RoundTopic("copied", STABLE.partitions)
TOPICS = (STABLE, MOVING, KEYED, TRIMMED, FLUSHED, TRANSACTED, COPIED)
TOPIC, PARTITIONS = STABLE.name, STABLE.partitions
OFFSETS_TOPIC = "__consumer_offsets"
CHURN = "churn-"
