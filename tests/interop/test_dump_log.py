"""kafka-dump-log reads what a node leaves on disk: segments, both indexes, producer snapshots."""

import re

import pytest

pytestmark = pytest.mark.interop

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
COMPLAINTS = ("isvalid: false", "Mismatches in", "Non-consecutive", "not found in the log", "Found timestamp mismatch",
              "Found indexes mismatch", "out of order", "corrupt", "Error")  # fmt: skip
SETTINGS = ("log.segment.bytes=20000", "log.index.interval.bytes=400")
RECORD_COUNT = 400


def filled(node, librdkafka, topic):
    """The partition's directory, after batches of every codec over several segments."""
    written = [
        (b"key %d" % number, b"value %d" % number * 10, [("n", b"%d" % number)]) for number in range(RECORD_COUNT)
    ]
    for codec in CODECS:
        librdkafka.write(node.bootstrap, topic, written, codec, **{"batch.num.messages": 20})
    return node.log_dir / f"{topic}-0"


def complaints(report):
    return [line for line in report.splitlines() if any(word in line for word in COMPLAINTS)]


def test_dump_log_finds_every_record_and_no_fault(node_factory, tools, librdkafka, topic):
    folder = filled(node_factory("dumped", *SETTINGS), librdkafka, topic)
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 2
    report = tools.dump(*segments)
    assert complaints(report) == []
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", report, re.MULTILINE)]
    assert offsets == list(range(RECORD_COUNT * len(CODECS)))
    assert report.count("payload: value 7value 7") == len(CODECS)
    assert {found.lower() for found in re.findall(r"compresscodec: (\w+)", report)} == set(CODECS)


def test_dump_log_agrees_with_the_indexes_of_a_running_and_of_a_stopped_node(node_factory, tools, librdkafka, topic):
    running = node_factory("indexed", *SETTINGS)
    folder = filled(running, librdkafka, topic)
    assert_indexes_are_sane(tools, folder)
    assert running.stop() == 0
    assert_indexes_are_sane(tools, folder)


def assert_indexes_are_sane(tools, folder):
    indexes = sorted([*folder.glob("*.index"), *folder.glob("*.timeindex")])
    assert len(indexes) == 2 * len(list(folder.glob("*.log")))
    report = tools.dump(*indexes, options=["--index-sanity-check"])
    assert complaints(report) == []
    assert report.count("passed sanity check") + report.count("is empty") == len(indexes), report
    assert complaints(tools.dump(*indexes, options=["--verify-index-only"])) == []
    entries = re.findall(r"^offset: \d+ position: \d+", tools.dump(*indexes, options=[]), re.MULTILINE)
    assert len(entries) > len(indexes), "the indexes are all but empty"


def test_dump_log_reads_the_snapshot_of_an_idempotent_producer(node_factory, tools, librdkafka, topic, records):
    running = node_factory("snapshot")
    librdkafka.write(running.bootstrap, topic, records, **{"enable.idempotence": True})
    assert running.stop() == 0
    snapshots = sorted((running.log_dir / f"{topic}-0").glob("*.snapshot"))
    assert snapshots, "a clean stop leaves a producer snapshot"
    report = tools.dump(snapshots[-1], options=[])
    assert complaints(report) == []
    assert "producerEpoch: 0" in report
    assert f"lastSequence: {len(records) - 1}" in report
