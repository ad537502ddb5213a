"""What the interop tests share: Kafka's own tools, a Java client, and records that are awkward in every way a record can be."""

import base64
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.interop.kafka_log import RECORDS

ROOT = Path(__file__).resolve().parent.parent.parent
JAVA_CLIENT = Path(__file__).parent / "RoundTrip.java"
TOOL_DEADLINE_S = 120


class KafkaTools:
    """Apache Kafka's command line tools, each run to its end."""

    def __init__(self, jars):
        self.classpath = ":".join(map(str, jars))

    def run(self, program, *arguments, stdin=b"", check=True, has_errors=False):
        """stdout of a tool, and stderr behind it if asked; `program` is its class, or a Java source file."""
        command = ["java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", self.classpath, program]
        done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, timeout=TOOL_DEADLINE_S)
        said = done.stdout[-2000:] + done.stderr[-2000:]
        assert not check or done.returncode == 0, (
            f"{program} ended with {done.returncode}: {said.decode(errors='replace')}"
        )
        return done.stdout + done.stderr if has_errors else done.stdout

    def dump(self, *files, options=("--deep-iteration", "--print-data-log")):
        """What kafka-dump-log prints of files; what it finds wrong comes last."""
        names = ",".join(map(str, files))
        said = self.run("kafka.tools.DumpLogSegments", *options, "--files", names, has_errors=True)
        return "".join(line for line in said.decode(errors="replace").splitlines(True) if not line.startswith("SLF4J"))


class JavaClient:
    """Kafka's Java producer and consumer, record by record; Base64 on the pipes."""

    def __init__(self, tools):
        self._tools = tools

    def write(self, bootstrap, topic, records, codec="none", idempotent=False):
        lines = "".join(
            f"{_encoded(key)}\t{_encoded(value)}{_encoded_headers(headers)}\n" for key, value, headers in records
        )
        arguments = ["write", bootstrap, topic, codec, str(idempotent).lower()]
        self._tools.run(str(JAVA_CLIENT), *arguments, stdin=lines.encode())

    def read(self, bootstrap, topic, count):
        lines = self._tools.run(str(JAVA_CLIENT), "read", bootstrap, topic, str(count)).decode().splitlines()
        return [_decoded_record(line) for line in lines]


def _encoded(content):
    return "-" if content is None else "=" + base64.b64encode(content).decode()


def _encoded_headers(headers):
    return "".join(f"\t{_encoded(name.encode())}\t{_encoded(content)}" for name, content in headers)


def _decoded(field):
    return None if field == "-" else base64.b64decode(field[1:])


def _decoded_record(line):
    key, value, *rest = (_decoded(field) for field in line.split("\t"))
    return key, value, [(name.decode(), content) for name, content in zip(rest[::2], rest[1::2], strict=True)]


@pytest.fixture(scope="session")
def tools():
    from bench.peers import jars

    return KafkaTools(jars("kafka"))


@pytest.fixture(scope="session")
def java_client(tools):
    return JavaClient(tools)


@pytest.fixture
def records():
    return list(RECORDS)


@pytest.fixture
def topic():
    return f"interop-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def librdkafka():
    return Librdkafka()


class Librdkafka:
    """librdkafka's producer and consumer, in the same shape as the Java client's."""

    def write(self, bootstrap, topic, records, codec="none", **settings):
        from confluent_kafka import Producer

        failures = []
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "linger.ms": 20,
                "message.max.bytes": 2_000_000,
                **settings,
            }
        )
        for key, value, headers in records:
            producer.produce(
                topic, value, key=key, headers=headers, partition=0, on_delivery=lambda e, _m: e and failures.append(e)
            )
        assert producer.flush(30) == 0
        assert not failures

    def read(self, bootstrap, topic, count):
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        found = []
        while len(found) < count:
            message = consumer.poll(15)
            assert message is not None, f"{len(found)} of {count} records came"
            assert not message.error(), message.error()
            found.append((message.key(), message.value(), message.headers() or []))
        consumer.close()
        return found
