"""Topics with several replicas that come and go under faults, again and again under the same name.

Used by: the cluster campaign, by our own client library. An incarnation is known by its topic id: it is created, written, read,
deleted; the last one stays, and has to have at the end what was acknowledged in it, and nothing of those before it.

A broker of Kafka's may take a request and never answer it. So each one has a deadline of our own, TIMEOUT_S, and is sent again over
a new connection (`Impatient`); what had no answer may have happened. Who was told to stop gives up after GIVE_UP_S, and says at what:
a cluster of ours has to have done it by then.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import LATEST, Cluster
from headrace.client.connection import Connection
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.failures import WaitTimedOut
from headrace.client.kafka import Kafka
from headrace.client.kafka_producer import KafkaProducer
from headrace.client.range_reader import read_ranges
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from tests.chaos import payload
from tests.chaos.history import NO_OFFSET, Create, Delete, History, Outcome, Poll, Record, Send
from tests.chaos.load import STOP_S, Client

PARTITIONS, REPLICAS = 2, 3
RECORDS = 10  # of a partition, in one step
STEP_S = 8.0  # a step that takes longer is given up
TIMEOUT_S = 5.0
PAUSE_S = 0.1
GIVE_UP_S = 45.0  # after it noticed that it was told to stop

assert (
    GIVE_UP_S + 3 * (STEP_S + TIMEOUT_S) < STOP_S
)  # the step it was in, the one it begins last, and what that began last


class ImpatientConnection(Connection):
    """Waits for no answer longer than its timeout, whatever the request would allow."""

    def receive(self, timeout_s: float | None = None) -> Any:
        return super().receive(None if timeout_s is None else min(timeout_s, self._timeout_s))


class Impatient(Cluster):
    """A client that retries for STEP_S, however many tries that takes."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers, timeout_s=TIMEOUT_S, patience_s=STEP_S, retries_max=0)

    def connect(self, host: str, port: int) -> Connection:
        return ImpatientConnection(host, port, self._timeout_s, self._client_id)


class TopicChurn(Client):
    """Creates, writes, reads and deletes `topic`; an incarnation is finished after it was told to stop, and stays."""

    def __init__(self, topic: str, bootstrap: str, history: History) -> None:
        super().__init__(topic)
        self.topic = topic
        self.generation = 0
        self.acknowledged = 0
        self.is_there = False  # the incarnation of this generation, and all of it is known
        self.gave_up = ""  # at what, after it was told to stop
        self._over_at: float | None = None
        self._bootstrap, self._history = bootstrap, history
        self._ids: set[str] = set()  # of incarnations that we deleted
        self._id = ""
        self._numbers = itertools.count()
        self._partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]

    def run(self) -> None:
        while self._until(self._create, "create"):
            self._history.add(Create(self.topic, self.generation + 1, time.monotonic(), time.monotonic()))
            self.generation += 1
            self.is_there = True
            for step in (self._write, self._read) * 2:
                with suppress(HeadraceError, OSError):
                    if not self._is_over():
                        step()
            if self.stopping.wait(PAUSE_S):
                return
            self.is_there = False
            now = time.monotonic()
            self._history.add(Delete(self.topic, self.generation, Outcome.UNKNOWN, now, now))
            self._ids.add(self._id)
            if not self._until(self._delete, "delete"):
                return

    def _until(self, step: Callable[[Cluster], bool], what: str) -> bool:
        """Again and again until it is done; faults end before long. False, where it was told to stop, and that took too long."""
        while not self._is_over():
            try:
                with Impatient(self._bootstrap) as cluster:
                    if step(cluster):
                        return True
            except (HeadraceError, OSError):
                pass
            time.sleep(PAUSE_S)
        self.gave_up = what
        return False

    def _is_over(self) -> bool:
        if self.abandoned.is_set():
            return True
        if not self.stopping.is_set():
            return False
        if self._over_at is None:
            self._over_at = time.monotonic() + GIVE_UP_S
        return time.monotonic() > self._over_at

    def _create(self, cluster: Cluster) -> bool:
        """Whether an incarnation is there that we did not delete, with a leader of each partition."""
        try:
            cluster.refresh([self.topic])
        except KafkaError:
            Admin(cluster).create_topics([NewTopic(self.topic, PARTITIONS, REPLICAS)])
            cluster.refresh([self.topic])
        self._id = cluster.topic_ids.get(self.topic, "")
        leaders = [cluster.partitions[name].leader for name in self._partitions if name in cluster.partitions]
        return self._id != "" and self._id not in self._ids and len(leaders) == PARTITIONS and min(leaders) >= 0

    def _delete(self, cluster: Cluster) -> bool:
        """Whether nobody has to be asked any more: unknown, or of another id."""
        errors = Admin(cluster).delete_topics([self.topic])
        known = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return all(error is None or error.code in known for error in errors.values())

    def _write(self) -> None:
        """Some records for each partition; what is not acknowledged in time is unknown."""
        began = time.monotonic()
        values = {
            name: tuple(f"{self.topic}.{self.generation}-{next(self._numbers)}" for _ in range(RECORDS))
            for name in self._partitions
        }
        told: dict[TopicPartition, list[tuple[int, int]]] = {name: [] for name in self._partitions}
        options = ProducingOptions(
            linger_ms=0, request_timeout_ms=3_000, delivery_timeout_ms=int(STEP_S * 1000), ends_at_failure=True
        )
        producer: KafkaProducer[bytes | None, bytes | None] = KafkaProducer(
            Kafka(self._bootstrap).engine(), options, None, None, TIMEOUT_S,
            on_stored=lambda name, base, count: told[name].append((base, count)),
        )  # fmt: skip
        try:
            for name, some in values.items():
                for value in some:
                    producer.send(self.topic, payload.encode(value), partition=name.partition)
            producer.flush(STEP_S)
        finally:
            with suppress(HeadraceError):
                producer.close(0.0)
            for name, some in values.items():
                self._note(name.partition, some, told[name], began)

    def _note(self, partition: int, values: tuple[str, ...], told: list[tuple[int, int]], began: float) -> None:
        """Batch by batch, as they were acknowledged; what is left is unknown."""
        ended = time.monotonic()
        for base, count in told:
            some, values = values[:count], values[count:]
            self.acknowledged += count
            base = max(base, NO_OFFSET)
            self._history.add(
                Send(self.topic, self.topic, self.generation, partition, some, Outcome.OK, base, began, ended)
            )
        for value in values:  # in as many batches as there may be
            self._history.add(
                Send(
                    self.topic,
                    self.topic,
                    self.generation,
                    partition,
                    (value,),
                    Outcome.UNKNOWN,
                    NO_OFFSET,
                    began,
                    ended,
                )
            )

    def _read(self) -> None:
        """Everything up to the ends, as far as it comes in time."""
        began = time.monotonic()
        deadline = began + STEP_S
        with Impatient(self._bootstrap) as cluster:
            cluster.refresh([self.topic])
            ends = cluster.offsets(dict.fromkeys(self._partitions, LATEST))
        records: list[Record] = []
        with Kafka(self._bootstrap) as kafka, suppress(WaitTimedOut):
            for found in read_ranges(kafka, dict.fromkeys(ends, 0), ends, silent_s=STEP_S):
                records += [Record(one.partition, one.offset, payload.decode(one.value)) for one in found]
                if time.monotonic() >= deadline:
                    break
        client = f"{self.topic}.reader{next(self._numbers)}"
        self._history.add(Poll(client, self.topic, self.generation, tuple(records), began, time.monotonic(), 0))
