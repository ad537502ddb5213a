"""import-07 against a node: killed again and again, everything arrives once; the topic is made; too few partitions are named."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest

from headrace.client.cluster import LATEST, Cluster
from headrace.ids import TopicPartition
from headrace.protocol.message_07 import build_message_07, build_set_07
from headrace.protocol.record_batch import iterate_batches, iterate_records
from tests.support.segments_07 import write_segments

SEED = 1107
PARTITIONS = 2
KILLS = 6
# headrace, killed right before or behind one of its requests, responses or writes of the state: the number is the first argument
DYING = """
import os, signal, sys
from headrace.migration.import_07_state import StateFile
from headrace.cli.main import main
from headrace.client.connection import Connection

left = int(sys.argv.pop(1))

def step():
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

def dying(function):
    def call(*arguments, **options):
        step()
        result = function(*arguments, **options)
        step()
        return result
    return call

Connection.send, Connection.receive, StateFile.write = map(dying, (Connection.send, Connection.receive, StateFile.write))
sys.exit(main())
"""


def command(*arguments):
    return [sys.executable, "-m", "headrace.cli.main", "import-07", *map(str, arguments)]


def carried(state_file):
    """How many messages a state says were carried."""
    return sum(row["count"] for row in json.loads(state_file.read_text())["partitions"].values())


def values(bootstrap, topic, partition):
    name = TopicPartition(topic, partition)
    with Cluster(bootstrap) as cluster:
        cluster.refresh([topic])
        end = cluster.offsets({name: LATEST})[name]
        return [
            record.value
            for data in cluster.fetch(name, 0, end)
            for _position, _header, batch in iterate_batches(data)
            for record in iterate_records(batch)
        ]


@pytest.fixture
def source(tmp_path):
    """Two partitions with some thousand messages each, and what they carry."""
    rng = random.Random(SEED)
    content = {}
    for partition in range(PARTITIONS):
        segments, content[partition] = [], []
        for _segment in range(3):
            messages = []
            for _ in range(300):
                payloads = [rng.randbytes(rng.randrange(80)) for _ in range(rng.choice([1, 1, 5]))]
                codec = rng.choice([1, 2])
                messages.append(build_set_07(payloads, codec) if len(payloads) > 1 else build_message_07(payloads[0]))
                content[partition] += payloads
            segments.append(messages)
        write_segments(tmp_path / "old", "clicks", partition, segments)
    return tmp_path / "old", content


def test_an_import_that_is_killed_again_and_again_brings_everything_once(node, tmp_path, source):
    directory, content = source
    topic, state = f"imported-{time.time_ns()}", tmp_path / "state"
    run = command(
        directory, topic, "--from", "clicks", "--bootstrap-servers", node.bootstrap, "--state", state,
        "--batch-bytes", 1000, "--compression", "lz4", "-q",
    )  # fmt: skip
    rng = random.Random(SEED)
    for _ in range(KILLS):
        lives = [sys.executable, "-c", DYING, str(rng.randrange(60, 160)), *run[3:]]
        assert subprocess.run(lives, stdout=subprocess.DEVNULL).returncode == -signal.SIGKILL
    assert 0 < carried(state) < sum(map(len, content.values())), "the kills fell in the middle"
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("read back: equal") == PARTITIONS
    for partition in range(PARTITIONS):
        assert values(node.bootstrap, topic, partition) == content[partition]


def test_a_topic_with_too_few_partitions_is_named_with_what_to_do(node, tmp_path, source):
    directory, _content = source
    topic = f"narrow-{time.time_ns()}"
    first = tmp_path / "one"
    write_segments(first, "clicks", 0, [[build_message_07(b"x")]])
    arguments = ["--from", "clicks", "--bootstrap-servers", node.bootstrap, "--state", tmp_path / "state"]
    assert subprocess.run(command(first, topic, *arguments)).returncode == 0
    arguments[-1] = tmp_path / "other-state"
    done = subprocess.run(command(directory, topic, *arguments), capture_output=True, text=True)
    assert done.returncode == 1
    assert "has 1 partitions, the source needs 2; add them: headrace topics alter" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_cluster_there(tmp_path, source):
    done = subprocess.run(
        command(source[0], "clicks", "--bootstrap-servers", "127.0.0.1:1", "--state", tmp_path / "state"),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("headrace: no broker responded")
