"""A log directory goes from Apache Kafka to a node and back: every record of it is served, by both, after clean stops and kills."""

import os
import shutil
import signal

import pytest
from kazoo.client import KazooClient

from headrace.log.inspection.log_dir_check import LogDirCheck
from headrace.shm.region import region_prefix, sweep
from tests.interop.kafka_log import (
    CODECS,
    COMPACTED_ROUNDS,
    HEADRACE_SETTINGS,
    OLD_FORMATS,
    RECORDS,
    SETTINGS,
    TOPICS,
    TRIMMED_TO,
    create_topics,
    fill,
    fill_compacted,
    read,
    start,
    wait_until,
    write,
)

pytestmark = pytest.mark.interop

TRANSACTIONAL = ["transactions", "compacted-transactions"]
PLAIN_TOPICS = {"codecs": {"segment.bytes": "20000"}, "headers": {}, "many": {"segment.bytes": "20000"}}


@pytest.fixture(scope="module")
def servers():
    """Brokers that end with the module."""
    running = []

    def start_one(kind, directory, settings=None):
        running.append(start(kind, directory, settings))
        return running[-1]

    yield start_one
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def written_by_kafka(servers, tmp_path_factory):
    """A directory that Kafka filled and left clean, and what it served of each topic."""
    directory = tmp_path_factory.mktemp("kafka")
    kafka = servers("kafka", directory, SETTINGS)
    create_topics(kafka.bootstrap)
    fill(kafka.bootstrap, RECORDS)
    served = {topic: read(kafka.bootstrap, topic) for topic in TOPICS}
    committed = {topic: read(kafka.bootstrap, topic, is_committed=True) for topic in TRANSACTIONAL}
    kafka.stop()
    return directory, served, committed


def copy_of(directory, target):
    shutil.copytree(directory, target)
    (target / "broker.log").unlink()
    return target


def kill(server):
    """The broker ends without a word, and its session in ZooKeeper with it, as it would after some seconds.

    A node that does not start on this directory again leaves its shared memory: it goes here.
    """
    for pid in server.pids():
        os.kill(pid, signal.SIGKILL)
    client = KazooClient(server._zookeeper.connect)
    client.start()
    for path in ("/brokers/ids/0", "/controller"):
        if client.exists(path):
            client.delete(path)
    client.stop()
    client.close()
    server.stop()
    sweep(region_prefix(0, server.directory / "logs"))


def faults(directory, is_running=False):
    totals = LogDirCheck(directory / "logs", is_deep=True, processes=2).run(lambda _totals: None)
    assert totals.is_running is is_running
    return [fault for fault in totals.faults if not fault.is_note]


def test_verify_finds_nothing_wrong_with_what_kafka_wrote(written_by_kafka):
    directory, served, _committed = written_by_kafka
    assert faults(directory) == []
    assert min(served["trimmed"]) == TRIMMED_TO
    assert len(served["compacted"]) < 1000


@pytest.mark.parametrize("topic", TOPICS)
def test_a_node_serves_every_record_that_kafka_wrote(opened_by_headrace, written_by_kafka, topic):
    found = read(opened_by_headrace.bootstrap, topic)
    assert found.keys() == written_by_kafka[1][topic].keys()
    assert found == written_by_kafka[1][topic]


@pytest.fixture(scope="module")
def opened_by_headrace(servers, written_by_kafka, tmp_path_factory):
    return servers("headrace", copy_of(written_by_kafka[0], tmp_path_factory.mktemp("headrace") / "copy"))


@pytest.mark.parametrize("topic", TRANSACTIONAL)
def test_a_node_hides_what_kafkas_producers_aborted(opened_by_headrace, written_by_kafka, topic):
    found = read(opened_by_headrace.bootstrap, topic, is_committed=True)
    assert found == written_by_kafka[2][topic]
    assert len(found) < len(written_by_kafka[1][topic])


def test_a_node_goes_on_where_kafka_stopped_and_kafka_where_the_node_did(servers, written_by_kafka, tmp_path):
    directory = copy_of(written_by_kafka[0], tmp_path / "copy")
    served = {topic: dict(records) for topic, records in written_by_kafka[1].items()}
    more = [(b"more %d" % n, b"of it" * n, [("h", b"%d" % n)]) for n in range(100)]
    for kind in ("headrace", "kafka", "headrace"):
        server = servers(kind, directory, SETTINGS if kind == "kafka" else None)
        for topic in ("codecs", "headers"):
            ends = max(served[topic]) + 1
            for codec in CODECS:
                write(server.bootstrap, topic, more, codec)
            found = read(server.bootstrap, topic)
            assert {offset: one for offset, one in found.items() if offset < ends} == served[topic]
            assert [one[1:] for offset, one in sorted(found.items()) if offset >= ends] == more * len(CODECS)
            served[topic] = found
        for topic in TOPICS:
            found = read(server.bootstrap, topic)
            if topic.startswith("compacted"):  # by either of them, further and further
                assert found.items() <= served[topic].items()
                assert found
                continue
            assert found == served[topic], topic
        assert faults(directory, is_running=True) == []
        server.stop()
        assert faults(directory) == []


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_kafka_serves_what_a_node_compacted_and_retained(servers, tmp_path, how):
    headrace = servers("headrace", tmp_path, HEADRACE_SETTINGS)
    create_topics(headrace.bootstrap, {name: TOPICS[name] for name in ("compacted", "retained")})
    fill_compacted(headrace.bootstrap)
    write(headrace.bootstrap, "retained", [(None, b"%d" % n * 30, []) for n in range(600)])
    wait_until(lambda: min(read(headrace.bootstrap, "retained")) > 0, "retention")
    served = {topic: read(headrace.bootstrap, topic) for topic in ("compacted", "retained")}
    if how == "killed":
        kill(headrace)
    else:
        headrace.stop()
        assert faults(tmp_path) == []
    kafka = servers("kafka", tmp_path, SETTINGS)
    assert read(kafka.bootstrap, "retained").items() <= served["retained"].items()
    compacted = read(kafka.bootstrap, "compacted")
    assert compacted.items() <= served["compacted"].items()
    for found in (compacted, served["compacted"]):
        last = {key: value for _offset, (_time, key, value, _headers) in sorted(found.items())}
        assert {key: value for key, value in last.items() if value is not None} == {
            b"%d" % key: b"%d" % (COMPACTED_ROUNDS - 1) * 20 for key in range(40) if key != 7
        }
    kafka.stop()
    assert faults(tmp_path) == []


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_kafka_serves_every_record_that_a_node_wrote(servers, tmp_path, records, how):
    headrace = servers("headrace", tmp_path)
    create_topics(headrace.bootstrap, PLAIN_TOPICS)
    many = [(b"%d" % n, b"value %d" % n * 9, []) for n in range(500)]
    for codec in CODECS:
        write(headrace.bootstrap, "codecs", many, codec)
        write(headrace.bootstrap, "headers", records, codec)
        write(headrace.bootstrap, "many", many, codec, **{"enable.idempotence": True})
    served = {topic: read(headrace.bootstrap, topic) for topic in PLAIN_TOPICS}
    if how == "killed":
        kill(headrace)
    else:
        headrace.stop()
        assert faults(tmp_path) == []
    kafka = servers("kafka", tmp_path, SETTINGS)
    assert {topic: read(kafka.bootstrap, topic) for topic in PLAIN_TOPICS} == served
    kafka.stop()
    assert faults(tmp_path) == []


def test_a_node_recovers_what_a_killed_kafka_left(servers, tmp_path, records):
    kafka = servers("kafka", tmp_path, SETTINGS)
    topics = {topic: config for topic, config in TOPICS.items() if topic in (*PLAIN_TOPICS, *OLD_FORMATS)}
    create_topics(kafka.bootstrap, topics)
    many = [(b"%d" % n, b"value %d" % n * 9, []) for n in range(200)]
    for codec in CODECS:
        for topic in topics:
            if codec != "zstd" or topic not in OLD_FORMATS:
                write(kafka.bootstrap, topic, many, codec)
    served = {topic: read(kafka.bootstrap, topic) for topic in topics}
    kill(kafka)
    headrace = servers("headrace", tmp_path)
    assert {topic: read(headrace.bootstrap, topic) for topic in topics} == served
    headrace.stop()
    assert faults(tmp_path) == []


def test_two_log_directories_go_to_and_fro(servers, tmp_path, records):
    log_dirs = [tmp_path / "logs-a", tmp_path / "logs-b"]
    where = {"log.dirs": ",".join(map(str, log_dirs))}
    topics = {f"spread-{number}": {} for number in range(6)}
    served = {}
    for kind in ("kafka", "headrace", "kafka"):
        server = servers(kind, tmp_path, {**(SETTINGS if kind == "kafka" else {}), **where})
        if not served:
            create_topics(server.bootstrap, topics)
        for topic in topics:
            ends = len(served.get(topic, ()))
            write(server.bootstrap, topic, records, "lz4")
            found = read(server.bootstrap, topic)
            assert {offset: one for offset, one in found.items() if offset < ends} == served.get(topic, {})
            assert len(found) == ends + len(records)
            served[topic] = found
        server.stop()
        for log_dir in log_dirs:
            assert list(log_dir.glob("spread-*"))
            totals = LogDirCheck(log_dir, is_deep=True).run(lambda _totals: None)
            assert [fault for fault in totals.faults if not fault.is_note] == []
