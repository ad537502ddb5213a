"""Consumers that remember each record: Kafka's VerifiableConsumer, a JVM that prints them, and librdkafka's in this process."""

import json
import subprocess
import threading
import time

from confluent_kafka import Consumer

from bench.peers import jars
from tests.support import children

STOP_S = 60
POLL_S = 0.2


class Records:
    """What a consumer was given.

    records    (partition, offset, value), in the order in which they came
    positions  by partition, the offset behind the last one
    """

    def __init__(self):
        self.records = []
        self.positions = {}

    def take(self, partition, offset, value):
        self.records.append((partition, offset, value))
        self.positions[partition] = offset + 1

    def passed(self, ends):
        """Whether it has come to these offsets, by partition."""
        return all(self.positions.get(partition, 0) >= end for partition, end in ends.items())


class VerifiableConsumer(Records):
    """A member of a group.

    assigned   how often partitions were assigned to it
    failed     commits that failed
    """

    def __init__(self, bootstrap, topic, directory, group="group", name="consumer", settings=None):
        super().__init__()
        self.assigned = 0
        self.failed = []
        config = directory / f"{name}.properties"
        given = {"metadata.max.age.ms": "3000", "default.api.timeout.ms": "120000", **(settings or {})}
        config.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        self._log = open(directory / f"{name}.log", "ab")  # noqa: SIM115
        command = [
            "java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars("kafka"))),
            "org.apache.kafka.tools.VerifiableConsumer", "--bootstrap-server", bootstrap, "--topic", topic,
            "--group-id", group, "--reset-policy", "earliest", "--verbose", "--session-timeout", "10000",
            "--consumer.config", str(config),
        ]  # fmt: skip
        self._process = children.start(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def stop(self):
        """SIGTERM: it commits, leaves its group, and ends."""
        self.end()

    def end(self):
        if self._process.poll() is None:
            children.end(self._process)
        self._thread.join(STOP_S)
        self._process.stdout.close()
        self._log.close()

    def _read(self):
        for line in self._process.stdout:
            if not line.startswith("{"):
                continue
            event = json.loads(line)
            if event["name"] == "record_data":
                self.take(event["partition"], event["offset"], event["value"].encode())
            elif event["name"] == "partitions_assigned":
                self.assigned += 1
            elif event["name"] == "offsets_committed" and not event["success"]:
                self.failed.append(event)


class NativeConsumer(Records):
    """librdkafka's, in a thread.

    brokers   those that it fetched from, as its statistics say
    """

    def __init__(self, bootstrap, topic, group="group", settings=None):
        super().__init__()
        self.brokers = set()
        self._stop = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "check.crcs": True,
                "session.timeout.ms": 10_000, "topic.metadata.refresh.interval.ms": 3_000, "log_level": 2,
                "statistics.interval.ms": 500, "stats_cb": self._note_statistics, **(settings or {}),
            }
        )  # fmt: skip
        self._topic = topic
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        self.end()

    def end(self):
        self._stop.set()
        self._thread.join(STOP_S)

    def _run(self):
        while not self._stop.is_set():
            for message in self._consumer.consume(500, POLL_S):
                if not message.error():
                    self.take(message.partition(), message.offset(), message.value())
        self._consumer.close()

    def _note_statistics(self, text):
        rows = json.loads(text)["topics"].get(self._topic, {}).get("partitions", {})
        self.brokers = {row["broker"] for number, row in rows.items() if int(number) >= 0 and row["broker"] >= 0}


def wait_passed(consumer, ends, patience_s=90):
    """Return when it has come to these offsets. raises AssertionError"""
    deadline = time.monotonic() + patience_s
    while not consumer.passed(ends):
        assert time.monotonic() < deadline, f"consumer is at {consumer.positions}, wanted {ends}"
        time.sleep(POLL_S)
