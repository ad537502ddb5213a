"""A mirror between nodes whose topics have other numbers of partitions: each record once, in order by key, whatever is killed."""

import random
import time

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.partitioner import partition_of
from headrace.ids import TopicPartition
from headrace.mirror.appender import append
from headrace.mirror.identity import DATA_EPOCH, LaneName
from headrace.mirror.journal import Journal
from headrace.mirror.journal_record import KeyedPosition, encode_chunk, encode_position
from headrace.mirror.keyed_lane import KeyedLane
from headrace.mirror.keyed_recovery import recover_keyed
from headrace.mirror.partitioner import target_partition
from headrace.mirror.passage import sift, stamped
from headrace.protocol.compression import Codec
from tests.support.mirror_process import MirrorProcess, contents, delete_records, records_of, started_nodes
from tests.support.waiting import wait_until

KILLS = 6


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Two sources and a target."""
    with started_nodes(tmp_path_factory.mktemp("mirror-by-key"), "source", "other", "target") as running:
        yield running


@pytest.fixture
def mirror(nodes, tmp_path):
    """Make a mirror of a topic from the first source, or from several."""
    made = []

    def make(topic, sources=1, **settings):
        bootstraps = [node.bootstrap for node in nodes[:sources]]
        given = {"mirror_name": f"m-{topic}", "mirror_topics_whitelist": topic, **settings}
        made.append(MirrorProcess(tmp_path / str(len(made)), bootstraps, nodes[2].bootstrap, **given))
        return made[-1]

    yield make
    for one in made:
        one.kill()


def create(node, topic, partitions):
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(topic, partitions)]) == {topic: None}


def produce(node, topic, values, codec=Codec.NONE):
    """Every tenth record has no key."""
    options = {"compression": codec.name.lower(), "linger_ms": 0}
    with Kafka(node.bootstrap) as kafka, kafka.producer(**options) as producer:
        for value in values:
            key = b"key %d" % (value % 97) if value % 10 else None
            producer.send(topic, b"%d" % value, key, headers=(("n", b"%d" % value),))


def check(sources, target, topic, count):
    """Each record is there once, where its key belongs, and in order for each key. returns   records of the target"""
    here = records_of(target.bootstrap, topic)
    assert len(here) == count
    rows = [row for records in here.values() for row in contents(records)]
    there = [records_of(source.bootstrap, topic) for source in sources]
    assert sorted(rows, key=repr) == sorted(
        (row for one in there for records in one.values() for row in contents(records)), key=repr
    )
    place = {
        one.value: (number, partition, one.offset)
        for number, partitions in enumerate(there)
        for partition, records in partitions.items()
        for one in records
    }
    for partition, records in here.items():
        assert {partition_of(one.key, count) for one in records if one.key is not None} <= {partition}
        by_source = {}
        for one in records:
            source, source_partition, offset = place[one.value]
            by_source.setdefault((source, source_partition), []).append(offset)
        assert all(offsets == sorted(offsets) for offsets in by_source.values())
    return here


def journal_of(node, name):
    with Cluster(node.bootstrap) as cluster:
        cluster.refresh(None)
        journal = Journal(cluster, lambda lane: lane.mirror == name, lambda: 0, "")
        journal.read()
        return journal


@pytest.mark.parametrize(("before", "after", "partitioner"), [(3, 5, "auto"), (5, 3, "key")])
def test_each_record_is_there_once_whatever_moment_the_mirror_is_killed_at(nodes, mirror, before, after, partitioner):
    source, _other, target = nodes
    topic = f"from-{before}-to-{after}"
    create(source, topic, before)
    create(target, topic, after)
    mirrored = mirror(topic, mirror_consumer_numthreads="2", mirror_partitioner=partitioner)
    chance = random.Random(before)
    for number in range(KILLS):
        mirrored.start()
        values = range(1_000 * number, 1_000 * (number + 1))
        produce(source, topic, values, chance.choice([Codec.NONE, Codec.LZ4, Codec.ZSTD]))
        time.sleep(chance.uniform(0.2, 1.0))  # the moment is drawn, nothing is waited for
        mirrored.kill()
        (mirrored.directory / f"m-{topic}.lock").unlink(missing_ok=True)  # children may hold it for a moment
    assert mirrored.finish() == 0, mirrored.log()
    check([source], target, topic, after)
    for notes in journal_of(target, f"m-{topic}").lanes.values():
        assert isinstance(notes.position, KeyedPosition)
        assert not [chunk for chunk in notes.chunks.values() if chunk.source < notes.position.source]


def test_two_sources_with_different_counts_go_into_one_topic(nodes, mirror):
    source, other, target = nodes
    topic = "two-into-one"
    create(source, topic, 2)
    create(other, topic, 3)
    create(target, topic, 4)
    produce(source, topic, range(4_000))
    produce(other, topic, range(10_000, 14_000), Codec.LZ4)
    mirrored = mirror(topic, sources=2)
    assert mirrored.finish() == 0, mirrored.log()
    check([source, other], target, topic, 4)
    assert set(journal_of(target, f"m-{topic}").partitioners.values()) == {"key"}


def test_two_sources_with_one_count_share_each_target_partition(nodes, mirror):
    source, other, target = nodes
    topic = "shared"
    for node, first in ((source, 0), (other, 10_000)):
        create(node, topic, 1)
        produce(node, topic, range(first, first + 4_000))
    mirrored = mirror(topic, sources=2)
    assert mirrored.finish() == 0, mirrored.log()
    values = [int(one.value) for one in records_of(target.bootstrap, topic)[0]]
    assert [value for value in values if value < 10_000] == list(range(4_000))
    assert [value for value in values if value >= 10_000] == list(range(10_000, 14_000))


def test_a_topic_of_sources_with_different_counts_is_created_with_the_largest(nodes, mirror):
    source, other, target = nodes
    topic = "largest"
    create(source, topic, 2)
    create(other, topic, 3)
    produce(source, topic, range(100))
    produce(other, topic, range(100, 200))
    mirrored = mirror(topic, sources=2)
    assert mirrored.finish() == 0, mirrored.log()
    check([source, other], target, topic, 3)


def test_a_group_skips_nothing_and_is_at_the_end_once_it_has_read_all(nodes, mirror):
    source, _other, target = nodes
    topic = "switched-by-key"
    create(source, topic, 2)
    create(target, topic, 3)
    produce(source, topic, range(2_000))
    mirrored = mirror(topic)
    there = records_of(source.bootstrap, topic)
    middle = {TopicPartition(topic, index): records[len(records) // 2].offset for index, records in there.items()}
    ends = {TopicPartition(topic, index): records[-1].offset + 1 for index, records in there.items()}
    with Cluster(source.bootstrap) as cluster:
        Admin(cluster).alter_group_offsets("halfway", middle)
        Admin(cluster).alter_group_offsets("done", ends)
        Admin(cluster).alter_group_offsets("one", {TopicPartition(topic, 0): ends[TopicPartition(topic, 0)]})
    assert mirrored.finish() == 0, mirrored.log()
    here = check([source], target, topic, 3)
    unread = {
        "halfway": {one.value for index, rows in there.items() for one in rows[len(rows) // 2 :]},
        "one": {one.value for one in there[1]},
        "done": set(),
    }
    with Cluster(target.bootstrap) as cluster:
        for group, values in unread.items():
            carried = Admin(cluster).group_offsets(group)
            assert len(carried) == 3
            read = {
                one.value
                for index, rows in here.items()
                for one in rows
                if one.offset >= carried[TopicPartition(topic, index)]
            }
            assert values <= read, group
        done = Admin(cluster).group_offsets("done")
        assert done == {TopicPartition(topic, index): rows[-1].offset + 1 for index, rows in here.items()}


def test_a_target_that_grows_gets_its_share_and_what_was_begun_stays(nodes, mirror):
    source, _other, target = nodes
    topic = "grows-at-the-target"
    create(source, topic, 2)
    create(target, topic, 3)
    produce(source, topic, range(500))
    mirrored = mirror(topic)
    mirrored.start()
    wait_until(lambda: sum(map(len, records_of(target.bootstrap, topic).values())) == 500, mirrored.log)
    with Cluster(target.bootstrap) as cluster:
        assert Admin(cluster).create_partitions({topic: 5}) == {topic: None}
    deadline_s = time.monotonic() + 30
    first = 500
    while not any(records_of(target.bootstrap, topic).get(index) for index in (3, 4)):
        assert time.monotonic() < deadline_s, mirrored.log()
        produce(source, topic, range(first, first + 200))
        first += 200
    mirrored.kill()
    again = mirror(topic, mirror_name=f"m-{topic}", mirror_partitioner="keep")
    assert again.finish() == 0, again.log()
    assert "was started with key" in again.log()
    values = sorted(int(one.value) for rows in records_of(target.bootstrap, topic).values() for one in rows)
    assert values == list(range(first))


def write_half(source, target, topic):
    """What a mirror leaves that is killed between the two batches of a chunk; only the one for target partition 0 is sent."""
    name = TopicPartition(topic, 0)
    with Cluster(source.bootstrap) as there, Cluster(target.bootstrap) as here:
        there.refresh([topic])
        here.refresh(None)
        lane = LaneName(f"m-{topic}", there.cluster_id, topic, 0)
        journal = Journal(here, lambda _lane: True, lambda: 0, "killed")
        journal.create(-1)
        start = KeyedPosition(0, 0, 0, 0, -1, there.topic_ids[topic], ordinals=(0, 0), targets=(0, 0))
        position, _entries, _before = journal.claim(lane, start, True)
        keyed = KeyedLane(lane, recover_keyed(position, [], [(), ()], position.life), 1 << 20, True)
        end = there.offsets({name: LATEST})[name]
        for data in there.fetch(name, 0, end):
            for sifted in sift(data, keyed.next_offset, None, 1 << 30):
                chunks = keyed.take(sifted)
        assert len(chunks) == 1
        assert keyed.next_offset == end
        rows = [encode_position(lane, position), *(encode_chunk(lane, chunk) for chunk in chunks)]
        journal.append(lane, rows)
        part = keyed.parts[0]
        batch = stamped(part.next_batch().piece.batch, part.producer_id, DATA_EPOCH, 0)
        append(here, TopicPartition(topic, 0), batch)


@pytest.mark.parametrize("is_shortened", [False, True])
def test_a_chunk_that_is_half_written_is_completed_with_what_the_source_still_has(nodes, mirror, is_shortened):
    source, _other, target = nodes
    topic = f"half-{is_shortened}".lower()
    create(source, topic, 1)
    create(target, topic, 2)
    produce(source, topic, range(40))
    there = records_of(source.bootstrap, topic)[0]
    write_half(source, target, topic)
    if is_shortened:
        with Cluster(source.bootstrap) as cluster:
            delete_records(cluster, TopicPartition(topic, 0), 20)
    mirrored = mirror(topic, mirror_on_gap="skip")
    assert mirrored.finish() == 0, mirrored.log()
    assert ("partition waits" in mirrored.log()) == is_shortened
    produce(source, topic, range(40, 60))
    assert mirrored.finish() == 0, mirrored.log()
    there += records_of(source.bootstrap, topic)[0][-20:]
    here = records_of(target.bootstrap, topic)
    wanted = {0: [], 1: []}
    for one in there:
        index = target_partition(one.key, 0, one.offset, 2)
        if not (is_shortened and index == 1 and one.offset < 20):
            wanted[index].append(one.value)
    assert {index: [one.value for one in rows] for index, rows in here.items()} == wanted


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_topic_that_was_created_again_is_noticed(nodes, mirror, policy):
    source, _other, target = nodes
    topic = f"again-by-key-{policy}"
    create(source, topic, 2)
    create(target, topic, 3)
    produce(source, topic, range(100))
    mirrored = mirror(topic, mirror_on_gap=policy)
    assert mirrored.finish() == 0, mirrored.log()
    with Cluster(source.bootstrap) as cluster:
        assert Admin(cluster).delete_topics([topic]) == {topic: None}
    create(source, topic, 2)
    produce(source, topic, range(1_000, 1_100))
    assert mirrored.finish() == (1 if policy == "stop" else 0), mirrored.log()
    assert "topic re-created" in mirrored.log()
    values = sorted(int(one.value) for rows in records_of(target.bootstrap, topic).values() for one in rows)
    assert values == (list(range(100)) if policy == "stop" else [*range(100), *range(1_000, 1_100)])
