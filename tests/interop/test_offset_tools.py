"""Kafka's tools on a live segment, on offsets and on log directories (marker `interop`: needs mvn for the jars)."""

import subprocess
import uuid

import pytest
from confluent_kafka import Producer

from bench.peers import jars

pytestmark = pytest.mark.interop


def tool(main, *arguments, stdin=""):
    command = ["java", "-Xmx256m", "-cp", ":".join(map(str, jars("kafka"))), main, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)


def name(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def write(bootstrap, topic, codec, count, size=100, **settings):
    producer = Producer(
        {"bootstrap.servers": bootstrap, "compression.type": codec, "batch.num.messages": 50, **settings}
    )
    for number in range(count):
        producer.produce(topic, b"%d-" % number + b"v" * size, key=b"%d" % number, partition=0, headers=[("h", b"x")])
        producer.poll(0)
    assert producer.flush(30) == 0


def test_dump_log_reads_a_live_active_segment(node):
    topic = name("live")
    write(node.bootstrap, topic, "none", 1_000)
    path = node.log_dir / f"{topic}-0" / f"{0:020d}.log"
    found = tool(
        "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(path), str(path.with_suffix(".index"))
    )
    assert found.returncode == 0, found.stderr
    assert "mismatch" not in (found.stdout + found.stderr).lower()


def test_kafka_get_offsets_and_log_dirs_answer(node):
    topic = name("offsets")
    write(node.bootstrap, topic, "none", 77)
    found = tool("org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", node.bootstrap, "--topic", topic)
    assert f"{topic}:0:77" in found.stdout, found.stderr
    found = tool("org.apache.kafka.tools.LogDirsCommand", "--bootstrap-server", node.bootstrap, "--describe")
    assert f'"partition":"{topic}-0"' in found.stdout, found.stderr
