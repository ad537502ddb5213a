"""Producers with acks=all and idempotence whose acknowledgements are kept, and what a reader finds afterwards.

A value is `producer-sequence` (`producer.sequence` of the Java one); each producer counts its own sequences, so that a gap, a
second copy and a wrong order show.

    lost         acknowledged, and not there. One that was sent again and known already (DUPLICATE_SEQUENCE_NUMBER) is acknowledged
                 without an offset: it has to be there at any
    duplicated   there twice
    displaced    acknowledged at another offset than it is read from
    disordered   a later sequence of one producer before an earlier one, in one partition
    unknown      there, and never sent
"""

import json
import re
import subprocess
import threading
import time
from collections import Counter, defaultdict

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from bench.peers import jars
from tests.support import children

FLUSH_S = 90
PAUSE_S = 0.01


class NativeLoad:
    """librdkafka's producer in this process."""

    def __init__(self, bootstrap, topic, partitions, rate=300, name="native", is_idempotent=True):
        self.topic = topic
        self.partitions = partitions
        self.acked = {}  # (partition, offset) -> value
        self.unplaced = []  # (partition, value)
        self.failures = []
        self.sent = [0] * partitions
        self.name = name
        self.is_idempotent = is_idempotent
        self._rate = rate
        self._stop = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": is_idempotent, "linger.ms": 5,
                "message.timeout.ms": 300_000, "request.timeout.ms": 10_000, "retry.backoff.ms": 100,
                "topic.metadata.refresh.interval.ms": 5_000, "queue.buffering.max.messages": 100_000, "log_level": 2,
                "error_cb": self._note_error,
            }
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()
        return self

    def stop(self):
        """Send no more, and wait for every acknowledgement."""
        self._stop.set()
        self._thread.join(FLUSH_S)
        left = self._producer.flush(FLUSH_S)
        assert not left, f"{left} records of {self.name} were never acknowledged"
        assert not self.failures, f"{len(self.failures)} of {self.name}, the first: {self.failures[0]}"

    def end(self):
        """Whatever is left of it, without a word."""
        self._stop.set()
        self._thread.join(FLUSH_S)

    def _run(self):
        begun = time.monotonic()
        while not self._stop.wait(PAUSE_S):
            due = int((time.monotonic() - begun) * self._rate) - sum(self.sent)
            for _ in range(min(due, self._rate)):
                index = sum(self.sent) % self.partitions
                value = b"%s-%d" % (self.name.encode(), self.sent[index])
                try:
                    self._producer.produce(self.topic, value, partition=index, on_delivery=self._note)
                except (BufferError, KafkaException) as failure:
                    if not isinstance(failure, BufferError):
                        self.failures.append(failure)
                        return
                    break
                self.sent[index] += 1
            self._producer.poll(0)

    def _note(self, error, message):
        if error:
            self.failures.append(error)
        elif message.offset() is None or message.offset() < 0:
            self.unplaced.append((message.partition(), message.value()))
        else:
            self.acked[message.partition(), message.offset()] = message.value()

    def _note_error(self, error):
        if error.fatal():
            self.failures.append(error)


class JavaLoad:
    """Kafka's own VerifiableProducer: a JVM that prints what was acknowledged, line by line.

    is_idempotent   else it doesn't retry either, and what fails is no failure of the load
    more            options of the program
    """

    def __init__(self, bootstrap, topic, directory, rate=100, number=0, is_idempotent=True, more=()):
        self.topic = topic
        self.acked = {}
        self.unplaced = []
        self.failures = []
        self.is_idempotent = is_idempotent
        config = directory / f"verifiable-producer-{number}.properties"
        retries = "enable.idempotence=true\nretries=2147483647\ndelivery.timeout.ms=300000\n" if is_idempotent else ""
        config.write_text(f"{retries}request.timeout.ms=10000\n")
        self._log = open(directory / "verifiable-producer.log", "ab")  # noqa: SIM115
        command = [
            "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars("kafka"))),
            "org.apache.kafka.tools.VerifiableProducer", "--bootstrap-server", bootstrap, "--topic", topic, "--acks", "-1",
            "--throughput", str(rate), "--producer.config", str(config), "--value-prefix", str(number),
            *more,
        ]  # fmt: skip
        self._process = children.start(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self):
        self._thread.start()
        return self

    def end(self):
        if self._process.poll() is None:
            children.end(self._process)
        self._thread.join(FLUSH_S)
        self._process.stdout.close()
        self._log.close()

    def stop(self):
        self.end()
        assert not (self.is_idempotent and self.failures), (
            f"{len(self.failures)} of VerifiableProducer, the first: {self.failures[0]}"
        )

    def _read(self):
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event["name"] == "producer_send_success" and event["offset"] < 0:
                self.unplaced.append((event["partition"], event["value"].encode()))
            elif event["name"] == "producer_send_success":
                self.acked[event["partition"], event["offset"]] = event["value"].encode()
            elif event["name"] == "producer_send_error":
                self.failures.append(event)


def read_all(bootstrap, topic, partitions, patience_s=60):
    """{partition: [(offset, value)]} up to the ends as they are now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": "judge", "enable.auto.commit": False,
            "enable.partition.eof": True, "check.crcs": True, "isolation.level": "read_committed", "log_level": 2,
        }
    )  # fmt: skip
    found = defaultdict(list)
    ended = set()
    deadline = time.monotonic() + patience_s
    try:
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"{topic}: the ends of {set(range(partitions)) - ended} never came"
            for message in consumer.consume(1000, 0.5):
                if not message.error():
                    found[message.partition()].append((message.offset(), message.value()))
                elif message.error().name() == "_PARTITION_EOF":
                    ended.add(message.partition())
    finally:
        consumer.close()
    return found


def judge(loads, found, most=5):
    """What is wrong with what was found in the topic of these loads; empty where nothing is."""
    said = []
    there = {(index, offset): value for index, records in found.items() for offset, value in records}
    values = {(index, value) for (index, _offset), value in there.items()}
    for load in loads:
        lost = [(place, value) for place, value in load.acked.items() if there.get(place) != value]
        said += [
            f"lost or displaced: {value} acknowledged at {place}, there: {there.get(place)}" for place, value in lost
        ]
        said += [
            f"lost: {value} acknowledged in {index}" for index, value in load.unplaced if (index, value) not in values
        ]
    for index, records in found.items():
        counts = Counter(value for _offset, value in records)
        said += [f"duplicated: {value} {n} times in {index}" for value, n in counts.items() if n > 1][:most]
        last = {}
        for offset, value in records:
            name, sequence = split(value)
            if sequence < last.get(name, 0):
                said.append(f"disordered: {value} at {offset} of {index}, after {last[name]}")
            last[name] = sequence
    sent = {load.name.encode(): load.sent for load in loads if isinstance(load, NativeLoad)}
    for index, records in found.items():
        for offset, value in records:
            name, sequence = split(value)
            if name in sent and sequence >= sent[name][index]:
                said.append(f"unknown: {value} at {offset} of {index}")
    return said[: 4 * most]


def split(value):
    """(producer, sequence) of a value."""
    name, sequence = re.fullmatch(rb"(.*)[-.](\d+)", value).groups()
    return name, int(sequence)
