"""DeleteRecords in a topic that is written, on several replicas, under faults.

Used by: the cluster campaign, by librdkafka's admin client. What was deleted has to stay deleted, unless a node was killed before
its checkpoint of log starts was written (`judge.py`); what was not, has to be there.
"""

from __future__ import annotations

import random
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.chaos.cluster_topics import RoundTopic
from tests.chaos.history import NO_OFFSET, History, Outcome, Trim
from tests.chaos.load import CLIENT, Client

PAUSE_S = 1.0
TIMEOUT_S = 5.0


class RecordTrimmer(Client):
    """Deletes records of `topic` up to somewhere, never up to its end."""

    def __init__(self, topic: RoundTopic, bootstrap: str, history: History, seed: int) -> None:
        super().__init__("trimmer")
        self.told: Counter[str] = Counter()
        self._topic, self._history, self._chance = topic, history, random.Random(seed)
        self._admin = AdminClient({"bootstrap.servers": bootstrap, **CLIENT})
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": self.name, **CLIENT})

    def run(self) -> None:
        while not self.stopping.wait(PAUSE_S):
            partition = self._chance.randrange(self._topic.partitions)
            try:
                low, high = self._consumer.get_watermark_offsets(
                    TopicPartition(self._topic.name, partition), timeout=TIMEOUT_S
                )
            except KafkaException:
                continue
            if high - low > 1:
                self._trim(partition, self._chance.randrange(low, high - 1))
        self._consumer.close()

    def _trim(self, partition: int, asked: int) -> None:
        began = time.monotonic()
        wanted = TopicPartition(self._topic.name, partition, asked)
        outcome, low_watermark = Outcome.UNKNOWN, NO_OFFSET
        try:
            (future,) = self._admin.delete_records([wanted], request_timeout=TIMEOUT_S).values()
            low_watermark = future.result(2 * TIMEOUT_S).low_watermark
            outcome = Outcome.OK
        except (KafkaException, TimeoutError):
            pass
        self.told[f"delete records: {outcome.value}"] += 1
        self._history.add(Trim(self._topic.name, 0, partition, asked, low_watermark, outcome, began, time.monotonic()))
