"""A mirror between two nodes: each record once and in order, whatever is killed; groups continue at exactly the next record."""

import random
import time

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.mirror.journal import Journal
from headrace.protocol.compression import Codec
from tests.support.mirror_process import MirrorProcess, contents, delete_records, partition, records_of, started_nodes
from tests.support.waiting import wait_until

KILLS = 8


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Source and target."""
    with started_nodes(tmp_path_factory.mktemp("mirror"), "source", "target") as running:
        yield running


@pytest.fixture
def mirror(nodes, tmp_path):
    """Make a mirror of a topic: `mirror("clicks", mirror_on_gap="skip")`."""
    made = []

    def make(topic, **settings):
        source, target = nodes
        name = f"m-{topic}"
        made.append(
            MirrorProcess(
                tmp_path / name,
                [source.bootstrap],
                target.bootstrap,
                mirror_name=name,
                mirror_topics_whitelist=topic,
                **settings,
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.kill()


def create(node, topic, partitions=1, **configs):
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(topic, partitions, configs=configs)]) == {topic: None}


def produce(node, topic, values, codec=Codec.NONE, linger_ms=0, **fields):
    options = {"compression": codec.name.lower(), "linger_ms": linger_ms}
    with Kafka(node.bootstrap) as kafka, kafka.producer(**options) as producer:
        for value in values:
            headers = (("n", b"%d" % value),)
            producer.send(topic, b"%d" % value, b"key %d" % (value % 97), headers=headers, **fields)


def journal_of(node, name):
    with Cluster(node.bootstrap) as cluster:
        cluster.refresh(None)
        journal = Journal(cluster, lambda lane: lane.mirror == name, lambda: 0, "")
        journal.read()
        return journal.lanes


def test_each_record_is_there_once_whatever_moment_the_mirror_is_killed_at(nodes, mirror):
    source, target = nodes
    create(source, "killed", 3)
    mirrored = mirror("killed", mirror_consumer_numthreads="2")
    chance = random.Random(7)
    for number in range(KILLS):
        mirrored.start()
        produce(
            source,
            "killed",
            range(1_000 * number, 1_000 * (number + 1)),
            chance.choice([Codec.NONE, Codec.LZ4, Codec.ZSTD]),
        )
        time.sleep(chance.uniform(0.2, 1.2))  # the moment is drawn, nothing is waited for
        mirrored.kill()
        mirrored.directory.joinpath("m-killed.lock").unlink(missing_ok=True)  # children may hold it for a moment
    assert mirrored.finish() == 0, mirrored.log()
    there, here = records_of(source.bootstrap, "killed"), records_of(target.bootstrap, "killed")
    assert {index: contents(rows) for index, rows in here.items()} == {
        index: contents(rows) for index, rows in there.items()
    }
    for lane, notes in journal_of(target, "m-killed").items():
        for old, new in zip(there[lane.partition], here[lane.partition], strict=True):
            assert notes.translation.translate(old.offset) == new.offset


def test_a_group_continues_at_exactly_the_next_record(nodes, mirror):
    source, target = nodes
    create(source, "switched")
    create(target, "switched")
    produce(target, "switched", [-1, -2, -3])  # so that offsets differ
    produce(source, "switched", range(100))
    name = partition("switched")
    with Cluster(source.bootstrap) as cluster:
        Admin(cluster).alter_group_offsets("billing", {name: 42})
    mirrored = mirror("switched")
    assert mirrored.finish() == 0, mirrored.log()
    with Cluster(target.bootstrap) as cluster:
        admin = Admin(cluster)
        assert admin.group_offsets("billing") == {name: 45}
        admin.alter_group_offsets("billing", {name: 50})  # it has moved on there
        assert mirrored.finish() == 0, mirrored.log()
        assert admin.group_offsets("billing") == {name: 50}, "an offset went backwards"


def test_a_group_ahead_of_the_copy_is_not_carried_further_than_it(nodes, mirror):
    source, target = nodes
    create(source, "ahead")
    produce(source, "ahead", range(10))
    name = partition("ahead")
    mirrored = mirror("ahead")
    assert mirrored.finish() == 0, mirrored.log()
    with Cluster(source.bootstrap) as cluster:
        Admin(cluster).alter_group_offsets("early", {name: 10})
    mirrored.start()
    with Cluster(target.bootstrap) as cluster:
        wait_until(lambda: Admin(cluster).group_offsets("early") == {name: 10}, mirrored.log)
    assert mirrored.stop() == 0, mirrored.log()


def test_a_group_that_can_not_be_carried_over_hinders_no_other_one(nodes, mirror):
    """One topic is no longer copied, and gone at the target: what its group has of another one is carried over, and so are later groups."""
    source, target = nodes
    topics = ["hinders-1", "hinders-2", "hinders-3"]
    for topic in topics:
        create(source, topic)
        produce(source, topic, range(10))
    mirrored = mirror("hinders-.")
    assert mirrored.finish() == 0, mirrored.log()
    with Cluster(target.bootstrap) as cluster:
        assert Admin(cluster).delete_topics(topics[:1]) == {topics[0]: None}
    with Cluster(source.bootstrap) as cluster:
        Admin(cluster).alter_group_offsets("first", {partition(topics[0]): 5, partition(topics[1]): 6})
        Admin(cluster).alter_group_offsets("second", {partition(topics[2]): 5})
    mirrored.config.write_text(mirrored.config.read_text().replace("whitelist=hinders-.", "whitelist=hinders-[23]"))
    assert mirrored.finish() == 0, mirrored.log()
    with Cluster(target.bootstrap) as cluster:
        found = {group: Admin(cluster).group_offsets(group) for group in ("first", "second")}
    assert found == {"first": {partition(topics[1]): 6}, "second": {partition(topics[2]): 5}}, mirrored.log()


def test_topics_grow_and_settings_follow(nodes, mirror):
    source, target = nodes
    create(source, "grown", 1, **{"retention.ms": "1234567890"})
    mirrored = mirror("grown")
    mirrored.start()
    with Cluster(target.bootstrap) as there, Cluster(source.bootstrap) as cluster:
        admin = Admin(there)

        def setting(key):
            return {
                one.name: one.value for one in admin.describe_configs(["grown"], may_be_gone=True).get("grown", [])
            }.get(key)

        wait_until(lambda: setting("retention.ms") == "1234567890", mirrored.log)
        Admin(cluster).alter_configs("grown", {"retention.ms": "1234567891"})
        assert Admin(cluster).create_partitions({"grown": 2}) == {"grown": None}
        wait_until(lambda: setting("retention.ms") == "1234567891", mirrored.log)
        cluster.refresh(["grown"])
        produce(source, "grown", range(20), partition=1)
        wait_until(lambda: len(records_of(target.bootstrap, "grown").get(1, ())) == 20, mirrored.log)
    code, workers = mirrored.status()
    assert code == 0
    assert sum(row["records"] for row in workers[0]["partitions"]) == 20
    assert mirrored.stop() == 0, mirrored.log()
    assert mirrored.status()[0] == 1


def test_the_mirror_that_is_started_last_goes_on(nodes, mirror, tmp_path):
    source, target = nodes
    create(source, "fenced")
    first = mirror("fenced")
    first.start()
    produce(source, "fenced", range(10))
    wait_until(
        lambda: len(records_of(target.bootstrap, "fenced").get(0, ())) == 10 if "located" in first.log() else False,
        first.log,
    )
    second = MirrorProcess(
        tmp_path / "other machine",
        [source.bootstrap],
        target.bootstrap,
        mirror_name="m-fenced",
        mirror_topics_whitelist="fenced",
    )
    second.start()
    wait_until(lambda: "partition located" in second.log(), second.log)
    produce(source, "fenced", range(10, 20))
    wait_until(lambda: "mirror exits" in first.log(), first.log)
    assert first.wait() == 78
    wait_until(lambda: len(records_of(target.bootstrap, "fenced")[0]) == 20, second.log)
    assert second.stop() == 0
    assert [one.value for one in records_of(target.bootstrap, "fenced")[0]] == [b"%d" % number for number in range(20)]


def test_one_mirror_of_a_name_runs_on_a_machine(nodes, mirror):
    create(nodes[0], "locked")
    mirrored = mirror("locked")
    mirrored.start()
    wait_until(lambda: "mirror started" in mirrored.log(), mirrored.log)
    assert mirrored.finish() == 1
    assert "already running" in mirrored.log()
    assert mirrored.stop() == 0


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_records_that_the_source_lost_stop_the_partition_or_are_noted(nodes, mirror, policy):
    source, target = nodes
    topic = f"lost-{policy}"
    create(source, topic)
    produce(source, topic, range(10))
    mirrored = mirror(topic, mirror_on_gap=policy)
    assert mirrored.finish() == 0, mirrored.log()
    produce(source, topic, range(10, 30))
    with Cluster(source.bootstrap) as cluster:
        delete_records(cluster, partition(topic), 20)
    assert mirrored.finish() == (1 if policy == "stop" else 0), mirrored.log()
    assert "the source begins at offset 20, offset 10 comes next" in mirrored.log()
    values = [int(one.value) for one in records_of(target.bootstrap, topic)[0]]
    assert values == (list(range(10)) if policy == "stop" else [*range(10), *range(20, 30)])
    if policy == "skip":
        (notes,) = journal_of(target, f"m-{topic}").values()
        assert [(gap.source, gap.until) for gap in notes.gaps] == [(10, 20)]
        assert notes.translation.translate(20) == 10


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_topic_that_was_created_again_is_noticed(nodes, mirror, policy):
    source, target = nodes
    topic = f"again-{policy}"
    create(source, topic)
    produce(source, topic, range(10))
    mirrored = mirror(topic, mirror_on_gap=policy)
    assert mirrored.finish() == 0, mirrored.log()
    with Cluster(source.bootstrap) as cluster:
        assert Admin(cluster).delete_topics([topic]) == {topic: None}
    create(source, topic)
    produce(source, topic, range(100, 120))
    assert mirrored.finish() == (1 if policy == "stop" else 0), mirrored.log()
    assert "topic re-created" in mirrored.log()
    values = [int(one.value) for one in records_of(target.bootstrap, topic)[0]]
    assert values == (list(range(10)) if policy == "stop" else [*range(10), *range(100, 120)])


def test_a_topic_does_not_come_back_to_where_it_came_from(nodes, mirror, tmp_path):
    source, target = nodes
    create(source, "round")
    produce(source, "round", range(10))
    there = mirror("round")
    assert there.finish() == 0, there.log()
    back = MirrorProcess(
        tmp_path / "back", [target.bootstrap], source.bootstrap, mirror_name="back", mirror_topics_whitelist="round"
    )
    back.start()
    wait_until(lambda: "came through the target" in back.log(), back.log)
    assert back.stop() == 0
    assert back.status()[1][0]["refused"].keys() == {"round"}
    assert len(records_of(source.bootstrap, "round")[0]) == 10
