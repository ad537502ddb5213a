"""Apache Kafka's own tools against a node and its files (marker `interop`: needs mvn for the jars)."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench.peers import jars

pytestmark = pytest.mark.interop

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


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


@pytest.mark.parametrize("codec", CODECS)
def test_dump_log_reads_segments_and_indexes_without_a_complaint(node_factory, codec):
    node = node_factory(codec, "log.segment.bytes=100000", "log.index.interval.bytes=500")
    write(node.bootstrap, "dumped", codec, 5_000, **{"enable.idempotence": True})
    assert node.stop() == 0
    directory = node.log_dir / "dumped-0"
    logs = sorted(directory.glob("*.log"))
    assert len(logs) > 1 or codec != "none"
    seen = 0
    for path in logs:
        found = tool("kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", str(path))
        assert found.returncode == 0, found.stderr
        assert "isvalid: false" not in found.stdout
        seen += found.stdout.count("payload: ")
    assert seen == 5_000
    for path in (*directory.glob("*.index"), *directory.glob("*.timeindex")):
        found = tool("kafka.tools.DumpLogSegments", "--verify-index-only", "--files", str(path))
        assert found.returncode == 0, found.stderr
        complaints = (found.stdout + found.stderr).lower()
        assert "mismatch" not in complaints, found.stdout
        assert "out of order" not in complaints, found.stdout
    for path in directory.glob("*.snapshot"):
        found = tool("kafka.tools.DumpLogSegments", "--files", str(path))
        assert found.returncode == 0, found.stderr
        assert "producerId" in found.stdout


def test_dump_log_reads_a_live_active_segment(node):
    topic = name("live")
    write(node.bootstrap, topic, "none", 1_000)
    path = node.log_dir / f"{topic}-0" / f"{0:020d}.log"
    found = tool(
        "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(path), str(path.with_suffix(".index"))
    )
    assert found.returncode == 0, found.stderr
    assert "mismatch" not in (found.stdout + found.stderr).lower()


@pytest.mark.parametrize("codec", CODECS)
def test_the_java_console_producer_writes_and_the_console_consumer_reads(node, codec):
    topic = name(f"console-{codec}")
    lines = [f"line {number} äö€" for number in range(500)]
    found = tool(
        "kafka.tools.ConsoleProducer", "--bootstrap-server", node.bootstrap, "--topic", topic,
        "--compression-codec", codec, stdin="\n".join(lines) + "\n",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    found = tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", node.bootstrap, "--topic", topic,
        "--partition", "0", "--offset", "earliest", "--max-messages", "500", "--timeout-ms", "20000",
    )  # fmt: skip
    assert found.stdout.splitlines() == lines, found.stderr
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    messages = []
    while len(messages) < 500:
        messages += consumer.consume(500 - len(messages), timeout=10)
    assert [message.value().decode() for message in messages] == lines
    consumer.close()


def test_the_producer_perf_test_runs(node):
    found = tool(
        "org.apache.kafka.tools.ProducerPerformance", "--topic", name("perf"), "--num-records", "50000", "--record-size",
        "100", "--throughput", "-1", "--producer-props", f"bootstrap.servers={node.bootstrap}", "acks=all",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "50000 records sent" in found.stdout


def test_kafka_topics_creates_lists_describes_and_deletes(node):
    topic = name("tool")
    base = ("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", node.bootstrap)
    made = tool(*base, "--create", "--topic", topic, "--partitions", "3", "--config", "segment.bytes=1000000")
    assert made.returncode == 0, made.stdout + made.stderr
    assert topic in tool(*base, "--list").stdout.split()
    described = tool(*base, "--describe", "--topic", topic).stdout
    assert "PartitionCount: 3" in described
    assert "segment.bytes=1000000" in described
    assert tool(*base, "--delete", "--topic", topic).returncode == 0
    assert topic not in tool(*base, "--list").stdout.split()


def test_kafka_get_offsets_and_log_dirs_answer(node):
    topic = name("offsets")
    write(node.bootstrap, topic, "none", 77)
    found = tool("org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", node.bootstrap, "--topic", topic)
    assert f"{topic}:0:77" in found.stdout, found.stderr
    found = tool("org.apache.kafka.tools.LogDirsCommand", "--bootstrap-server", node.bootstrap, "--describe")
    assert f'"partition":"{topic}-0"' in found.stdout, found.stderr


def test_kcat_writes_and_reads(node):
    import shutil

    program = shutil.which("kcat") or shutil.which("kafkacat")
    if program is None:
        pytest.skip("kcat is not installed (apt-get install kcat)")
    topic = name("kcat")
    lines = "".join(f"{number}:value {number}\n" for number in range(1_000))
    subprocess.run(
        [program, "-b", node.bootstrap, "-t", topic, "-P", "-K:"], input=lines, text=True, check=True, timeout=60
    )
    found = subprocess.run(
        [program, "-b", node.bootstrap, "-t", topic, "-C", "-e", "-q", "-o", "beginning", "-K:"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert found.stdout == lines
