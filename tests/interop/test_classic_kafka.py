"""Classic consumers of ours and of Kafka 0.8.2 on one node: equal answers, one group in ZooKeeper, offsets that move between stores.

Their jars come from Maven (`bench/peers/pom.xml`, kafka-0.8.2).
"""

import itertools
import random
import shutil
import subprocess
from zlib import crc32

import pytest

from headrace.classic.consumer import Consumer
from headrace.classic.partitioner import DefaultPartitioner, java_hash
from headrace.classic.producer import KeyedMessage, Producer
from headrace.classic.simple_consumer import FetchRequest, SimpleConsumer
from headrace.classic.topic_filter import Whitelist
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from tests.chaos.classic_campaign import Campaign, classpath_of_members

pytestmark = pytest.mark.interop

REQUESTS = 1000
DEADLINE_S = 120


@pytest.fixture(scope="module")
def classpath(tmp_path_factory):
    if shutil.which("javac") is None or shutil.which("mvn") is None:
        pytest.skip("javac and mvn are needed")
    return classpath_of_members(tmp_path_factory.mktemp("members"))


def new_topic(node, name, partitions, **configs):
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(name, partitions)]) == {name: None}
        if configs:
            Admin(cluster).alter_configs(name, configs)


def answer(consumer, words):
    """What our simple consumer says to a request, in the words of ClassicRequests.java."""
    kind, topic, partition, at, size = words[0], words[1], int(words[2]), int(words[3]), int(words[4])
    if kind == "offsets":
        try:
            return " ".join(["0", *map(str, consumer.get_offsets_before(topic, partition, at, size))])
        except KafkaError as failure:
            return str(int(failure.code))
    (found,) = consumer.multifetch([FetchRequest(topic, partition, at, size)])
    said = [str(found.error_code), str(found.high_watermark)]
    if not found.error_code:
        said += [f"{one.offset}:{checksum(one.message.key, one.message.payload)}" for one in found]
    return " ".join(said)


def checksum(*parts):
    found = 0
    for one in parts:
        found = crc32(b"\0" if one is None else b"\1", found)
        found = crc32(one or b"", found)
    return found


def test_a_thousand_random_requests_have_equal_answers(node, classpath, monkeypatch):
    """In their version of Fetch. Messages are larger in ours: all of a fetch that has room for all is compared again."""
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    topic = f"requests-{seed}"
    new_topic(node, topic, 3, **{"segment.bytes": "20000"})
    for codec in ("none", "gzip", "snappy", "none"):
        with Producer({"broker.list": node.bootstrap, "acks": 1, "compression.codec": codec}) as producer:
            for _ in range(30):
                key = chance.choice([None, "k", "key"])
                rows = [
                    KeyedMessage(topic, chance.choice([None, chance.randbytes(chance.randint(0, 700))]), key)
                    for _ in range(chance.randint(1, 6))
                ]
                producer.send(
                    [one if one.message is not None or one.key else KeyedMessage(topic, b"", None) for one in rows]
                )
    lines = []
    for _ in range(REQUESTS):
        name = topic if chance.random() < 0.97 else "no-such-topic"
        partition = chance.choice([0, 0, 1, 1, 2, 2, 7])
        if chance.random() < 0.3:
            lines.append(f"offsets {name} {partition} {chance.choice([-1, -2, 0, 1 << 50])} {chance.randint(1, 9)}")
        else:
            lines.append(
                f"fetch {name} {partition} {chance.randint(-1, 140)} {chance.choice([1, 60, 500, 3000, 100_000])}"
            )
    command = ["java", "-cp", classpath, "ClassicRequests", *map(str, node.address)]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = done.stdout.splitlines()
    assert len(theirs) == REQUESTS
    for version in (2, 0):
        monkeypatch.setattr("headrace.classic.simple_consumer.FETCH_OLD", (0, version))
        with SimpleConsumer(*node.address) as consumer:
            for line, wanted in zip(lines, theirs, strict=True):
                if not version or line.endswith("100000") or line.startswith("offsets"):
                    assert answer(consumer, line.split()) == wanted, f"seed {seed}: {line}"
    assert sum(":" in one for one in theirs) > REQUESTS / 10, f"seed {seed}: too few with messages"


STEPS = [
    ("theirs", "zookeeper", None),
    ("ours", "zookeeper", None),
    ("ours", "kafka", True),
    ("theirs", "kafka", True),
    ("theirs", "kafka", False),
    ("ours", "kafka", False),
    ("theirs", "kafka", True),
    ("ours", "zookeeper", True),
    ("ours", "zookeeper", False),
    ("theirs", "zookeeper", None),
]
COUNT = 10


def test_offsets_move_to_kafka_and_back_among_members_of_both(node, classpath):
    """Each member reads COUNT messages after the one before: none is skipped, none read twice."""
    topic = f"moved-{random.randrange(1 << 30)}"
    new_topic(node, topic, 1)
    with Producer({"broker.list": node.bootstrap, "acks": 1}) as producer:
        producer.send([KeyedMessage(topic, b"x") for _ in range(COUNT * len(STEPS))])
    for place, (kind, storage, is_dual) in enumerate(STEPS):
        config = {
            "zookeeper.connect": node.zookeeper,
            "group.id": topic,
            "auto.offset.reset": "smallest",
            "offsets.storage": storage,
        }
        if is_dual is not None:
            config["dual.commit.enabled"] = str(is_dual).lower()
        wanted = [(topic, 0, offset) for offset in range(COUNT * place, COUNT * (place + 1))]
        assert (ours if kind == "ours" else theirs)(config, topic, classpath) == wanted, STEPS[place]
    with SimpleConsumer(*node.address) as asked:
        assert asked.fetch_offsets(topic, [TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): COUNT * len(STEPS)}


def ours(config, topic, _classpath):
    with Consumer.create(config) as connector:
        (stream,) = connector.create_message_streams_by_filter(Whitelist(topic))
        return [(one.topic, one.partition, one.offset) for one in itertools.islice(stream, COUNT)]


def theirs(config, topic, classpath):
    text = ";".join(f"{key}={value}" for key, value in config.items())
    command = ["java", "-cp", classpath, "ClassicMember", text, topic, "1", str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split() for line in done.stdout.splitlines() if line != "ready"]
    return [(name, int(partition), int(offset)) for name, partition, offset in rows]


def test_members_of_both_share_a_group_while_they_die_and_topics_come(tmp_path, classpath):
    verdict = Campaign(tmp_path, random.randrange(1 << 30), classpath).run(6)
    assert verdict.faults(6) == [], verdict.summary()


def test_the_partition_of_a_key_is_that_of_their_producer(tmp_path, classpath):
    chance = random.Random(11)
    keys = [
        "".join(chance.choice("abcXYZ \u00e4\u4e2d\U0001f600") for _ in range(chance.randint(0, 12)))
        for _ in range(500)
    ]
    source = tmp_path / "Keys.java"
    source.write_text(
        "import java.io.*; class Keys { public static void main(String[] a) throws Exception {"
        ' BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));'
        " kafka.producer.DefaultPartitioner p = new kafka.producer.DefaultPartitioner(null);"
        ' for (String s; (s = in.readLine()) != null; ) System.out.println(s.hashCode() + " " + p.partition(s, 97)); } }'
    )
    command = ["java", "-cp", classpath, str(source)]
    done = subprocess.run(command, input="\n".join(keys).encode() + b"\n", capture_output=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr[-2000:]
    wanted = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert [(java_hash(key), DefaultPartitioner().partition(key, 97)) for key in keys] == wanted
