"""A compacted log, read to its end by clients of other makers: kafka-go, sarama, kafkajs, @platformatic/kafka.

Batches without records stop some of them (kafkajs#562, kafka-go#813): Kafka leaves one only for the last sequence of a producer.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.ids import TopicPartition
from headrace.log.names import segment_bases
from headrace.log.state.checkpoints import CLEANER_OFFSET_FILE, read_offset_checkpoint
from tests.conftest import start_node
from tests.interop.test_group_members import BUILD, built
from tests.support.compaction_fixtures import batches_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop

READERS = Path(__file__).parent / "readers"
GO_MODULES = ("github.com/segmentio/kafka-go@v0.4.49", "github.com/IBM/sarama@v1.46.3")
NPM_PACKAGES = ("kafkajs@2.2.4", "@platformatic/kafka@1.35.0")
CLIENTS = ("kafka-go", "kafka-go-group", "sarama", "kafkajs", "platformatic")
TOPIC = "gaps"
DEADLINE_S = 120
SETTINGS = {"cleanup.policy": "compact", "segment.bytes": "2000", "min.cleanable.dirty.ratio": "0.01"}


@pytest.fixture(scope="session")
def readers():
    """client -> the command that begins its program."""
    directory = BUILD / "compacted-readers"
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("reader.go", "reader.mjs"):
        shutil.copy(READERS / name, directory)
    steps = []
    if not (directory / "go.mod").exists():
        steps = [["go", "mod", "init", "reader"], *(["go", "get", one] for one in GO_MODULES), ["go", "mod", "tidy"]]
    built(directory, *steps, ["go", "build", "-o", "reader", "."])
    if not (directory / "node_modules" / "kafkajs").is_dir():
        built(directory, ["npm", "install", "--no-audit", "--no-fund", *NPM_PACKAGES])
    in_go, in_node = [str(directory / "reader")], ["node", str(directory / "reader.mjs")]
    return {client: in_node if client in ("kafkajs", "platformatic") else in_go for client in CLIENTS}


def written(bootstrap):
    """Segments of a few batches; all but a few keys are superseded later, so that the ends of groups go."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=SETTINGS)])[TOPIC].result(DEADLINE_S)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for number in range(90):
        for key in (f"only-{number}" if number < 30 else "hot", "hot", "hot2"):
            producer.produce(TOPIC, key=key, value="v" * 60)
        producer.flush(DEADLINE_S)
    for key in ("last", *["filler"] * 25):
        producer.produce(TOPIC, key=key, value="f" * 80)
        producer.flush(DEADLINE_S)


@pytest.fixture(scope="module")
def compacted(tmp_path_factory):
    """(bootstrap, offsets of the records that are left)"""
    server = start_node(tmp_path_factory.mktemp("compacted"), "log.cleaner.backoff.ms=200")
    try:
        written(server.bootstrap)
        (partition,) = server.directory.rglob(f"{TOPIC}-0")

        def is_clean():
            found = read_offset_checkpoint(partition.parent / CLEANER_OFFSET_FILE)
            return found.get(TopicPartition(TOPIC, 0)) == segment_bases(partition)[-1]

        wait_until(is_clean, "not compacted up to the active segment")
        left = [record.offset for _header, records in batches_of(partition) for record in records]
        assert 0 < len(left) < 80
        yield server.bootstrap, left
    finally:
        server.stop()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_a_compacted_log_to_its_end_each_record_once(compacted, readers, client):
    bootstrap, offsets = compacted
    command = [*readers[client], client, bootstrap, TOPIC, str(offsets[-1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [int(line) for line in done.stdout.split()] == offsets
