"""Kafka's console producer and consumer and its perf tools against a node."""

import re

import pytest

pytestmark = pytest.mark.interop

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSOLE_PRODUCER = "kafka.tools.ConsoleProducer"
PRODUCER_PERF = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERF = "org.apache.kafka.tools.ConsumerPerformance"


def consume(tools, node, topic, count, *properties):
    options = [part for each in properties for part in ("--property", each)]
    return tools.run(CONSOLE_CONSUMER, "--bootstrap-server", node.bootstrap, "--topic", topic, "--partition", "0",
                     "--offset", "earliest", "--max-messages", str(count), "--timeout-ms", "20000", *options)  # fmt: skip


@pytest.mark.parametrize("codec", CODECS)
def test_lines_of_the_console_producer_come_back(node, tools, librdkafka, topic, codec):
    lines = ["plain", "ünïcödé ✓", "NULL", "", "long " * 2_000]
    text = "".join(f"h1:a,h2:b\tkey {number}\t{line}\n" for number, line in enumerate(lines))
    tools.run(CONSOLE_PRODUCER, "--bootstrap-server", node.bootstrap, "--topic", topic, "--compression-codec", codec,
              "--property", "parse.key=true", "--property", "parse.headers=true", "--property", "null.marker=NULL",
              stdin=text.encode())  # fmt: skip
    wanted = [
        (b"key %d" % number, None if line == "NULL" else line.encode(), [("h1", b"a"), ("h2", b"b")])
        for number, line in enumerate(lines)
    ]
    assert librdkafka.read(node.bootstrap, topic, len(lines)) == wanted
    assert consume(tools, node, topic, len(lines)) == b"".join(
        (b"null" if value is None else value) + b"\n" for _key, value, _ in wanted
    )


def test_the_console_consumer_prints_the_same_bytes(node, tools, librdkafka, topic, records):
    librdkafka.write(node.bootstrap, topic, records)
    found = consume(tools, node, topic, len(records), "print.key=true", "print.headers=true", "null.literal=<null>",
                    "key.separator=<k>", "line.separator=<end>", "headers.separator=<h>")  # fmt: skip
    wanted = b""
    for key, value, headers in records:
        pairs = [name.encode() + b":" + (b"<null>" if content is None else content) for name, content in headers]
        parts = [b"<h>".join(pairs) or b"NO_HEADERS", *(b"<null>" if part is None else part for part in (key, value))]
        wanted += b"<k>".join(parts) + b"<end>"
    assert found == wanted


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_producer_perf_tool_loses_nothing(node, tools, topic, acks):
    count = 20_000
    report = tools.run(PRODUCER_PERF, "--topic", topic, "--num-records", str(count), "--record-size", "100", "--throughput",
                       "-1", "--producer-props", f"bootstrap.servers={node.bootstrap}", f"acks={acks}")  # fmt: skip
    assert re.search(rf"^{count} records sent".encode(), report, re.MULTILINE)
    assert consume(tools, node, topic, count).count(b"\n") == count


def test_the_offset_tool_sees_both_ends(node, tools, librdkafka, topic, records):
    librdkafka.write(node.bootstrap, topic, records)
    for time, wanted in (("earliest", 0), ("latest", len(records))):
        report = tools.run("org.apache.kafka.tools.GetOffsetShell", "--bootstrap-server", node.bootstrap, "--topic", topic,
                           "--time", time)  # fmt: skip
        assert report.decode().split() == [f"{topic}:0:{wanted}"]


def test_the_consumer_perf_tool_reads_everything(node, tools, librdkafka, topic):
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    librdkafka.write(node.bootstrap, topic, [(None, b"x" * 100, [])] * 5_000)
    try:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.describe_consumer_groups(["any"], request_timeout=5)["any"].result(10)
    except KafkaException as answer:
        pytest.skip(f"the node has no consumer groups yet: {answer}")
    report = tools.run(CONSUMER_PERF, "--bootstrap-server", node.bootstrap, "--topic", topic, "--messages", "5000",
                       "--timeout", "30000").decode()  # fmt: skip
    assert report.splitlines()[-1].split(", ")[4] == "5000"
