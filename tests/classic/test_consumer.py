"""The high-level consumer against a node and its ZooKeeper: H1 to H6, Z1 to Z6, and a group that changes by seed."""

import json
import random
import threading
from collections import Counter

import pytest
from kazoo.client import KazooClient

from headrace.classic import consumer as consumer_module
from headrace.classic import registry
from headrace.classic.config import ConsumerConfig
from headrace.classic.consumer import Consumer
from headrace.classic.discovery import Address
from headrace.classic.errors import ConsumerTimeout, OffsetOutOfRange
from headrace.classic.fetchers import Fetched, FetcherThread
from headrace.classic.kafka_stream import KafkaStream, OwnedPartition
from headrace.classic.message_set_reader import ByteBufferMessageSet
from headrace.classic.offsets import DualOffsets, offset_store
from headrace.classic.producer import KeyedMessage, Producer
from headrace.classic.rebalance import member_of
from headrace.classic.serializer import DefaultDecoder, StringDecoder
from headrace.classic.simple_consumer import SimpleConsumer
from headrace.classic.topic_filter import Blacklist, Whitelist
from headrace.classic.zookeeper import ZooKeeper
from headrace.errors import ConfigError, NotAvailable
from headrace.ids import TopicPartition
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process


def config_of(node, group, **settings):
    made = {
        "zk.connect": node.zookeeper,
        "groupid": group,
        "autooffset.reset": "smallest",
        "rebalance.backoff.ms": 100,
        "consumer.timeout.ms": 200,
    }
    return {**made, **{name.replace("_", "."): value for name, value in settings.items()}}


def produce(node, topic, count, first=0):
    with Producer({"broker.list": node.bootstrap, "acks": 1}) as producer:
        producer.send([KeyedMessage(topic, b"%d" % number, str(number)) for number in range(first, first + count)])


def drain(streams):
    """All messages until there is none for the timeout."""
    found = []
    for stream in streams:
        try:
            found += stream  # iterates to the exception
        except ConsumerTimeout:
            pass
    return found


def take(stream, count):
    """Messages, however long they take."""
    found = []
    while len(found) < count:
        try:
            found.append(next(stream))
        except ConsumerTimeout:
            continue
    return found


@pytest.fixture
def zookeeper(node):
    session = ZooKeeper(node.zookeeper, 10_000, 10_000, lambda: None)
    yield session
    session.close()


def test_streams_of_topics_h1_h2_h4(node, new_topic, group):
    first, second = new_topic(3), new_topic(1)
    produce(node, first, 30)
    produce(node, second, 5)
    with Consumer.create(config_of(node, group)) as connector:
        streams = connector.create_message_streams({first: 2, second: 1}, StringDecoder(), StringDecoder())
        assert {topic: len(found) for topic, found in streams.items()} == {first: 2, second: 1}
        seen = [take(streams[second][0], 5)]
        lengths = Counter(stream.rpartition("-")[2] for name, stream in connector.owned.items() if name.topic == first)
        assert lengths == {"0": 2, "1": 1}
        found = []
        while len(found) < 30:
            found += drain(streams[first])
        assert sorted(int(one.message) for one in found) == list(range(30))
        assert all(one.key == one.message and one.topic == first and one.timestamp > 0 for one in found)
        by_partition = {}
        for one in found:
            by_partition.setdefault(one.partition, []).append(one.offset)
        assert all(offsets == list(range(len(offsets))) for offsets in by_partition.values())
        assert len(seen[0]) == 5
        with pytest.raises(RuntimeError, match="one call per connector"):
            connector.create_message_streams({first: 1})


def test_a_filter_notices_new_topics_h3(node, new_topic, group):
    names = [new_topic(1, f"{group}-{kind}") for kind in ("a", "b", "c")]
    with Consumer.create(config_of(node, group)) as connector:
        (stream,) = connector.create_message_streams_by_filter(Whitelist(f"{group}-[abd]"))
        produce(node, names[0], 2)
        produce(node, names[2], 2)
        assert {one.topic for one in take(stream, 2)} == {names[0]}
        new = new_topic(2, f"{group}-d")
        produce(node, new, 10)
        assert {one.topic for one in take(stream, 10)} == {new}
        assert {name.topic for name in connector.owned} == {names[0], names[1], new}
    other = f"{group}-other"
    with Consumer.create(config_of(node, other)) as connector:
        connector.create_message_streams_by_filter(Blacklist(f"(?!{group}-).*|{group}-[ac]"), 2)
        assert {name.topic for name in connector.owned} == {names[1], new}


def test_what_was_consumed_is_committed_h5(node, new_topic, group, zookeeper):
    topic = new_topic(1)
    produce(node, topic, 10)
    path = registry.offset_path(group, topic, 0)
    with Consumer.create(config_of(node, group, auto_commit_enable="false")) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        take(stream, 4)
        connector.commit_offsets()
        assert zookeeper.get(path) == b"4", "the one that was returned last counts, for its own thread committed"
        take(stream, 3)
        other = threading.Thread(target=connector.commit_offsets)
        other.start()
        other.join()
        assert zookeeper.get(path) == b"6", "the last one may still be worked on"
    assert zookeeper.get(path) == b"6", "no commit at shutdown without autocommit"
    with Consumer.create(config_of(node, group)) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        assert [one.offset for one in take(stream, 2)] == [6, 7]
    assert zookeeper.get(path) == b"8"
    with pytest.raises(StopIteration):
        next(stream)
    connector.shutdown()


def test_autocommit_by_interval_h5(node, new_topic, group, zookeeper):
    topic = new_topic(1)
    produce(node, topic, 10)
    with Consumer.create(config_of(node, group, autocommit_interval_ms=20)) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        take(stream, 4)
        wait_until(lambda: zookeeper.get(registry.offset_path(group, topic, 0)) == b"3")


def test_where_a_group_begins_is_kept_before_it_has_read_anything(node, new_topic, group):
    """Else a rebalance before the first message resets to an end that is further, and skips what came in between."""
    topic = new_topic(1)
    produce(node, topic, 3)
    settings = config_of(node, group, autooffset_reset="largest")
    with Consumer.create(settings) as connector:
        connector.create_message_streams({topic: 1})
    produce(node, topic, 2, first=3)
    with Consumer.create(settings) as connector:
        assert [one.message for one in take(connector.create_message_streams({topic: 1})[topic][0], 2)] == [b"3", b"4"]


@pytest.mark.parametrize("policy", ["smallest", "largest", "anything"])
def test_an_offset_out_of_range_h2(node, new_topic, group, policy, zookeeper):
    topic = new_topic(1)
    produce(node, topic, 3)
    zookeeper.put(registry.offset_path(group, topic, 0), b"77")
    with Consumer.create(config_of(node, group, autooffset_reset=policy)) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        if policy == "anything":
            with pytest.raises(OffsetOutOfRange, match=f"{topic}-0 at offset 77"):
                take(stream, 1)
            return
        if policy == "largest":
            with pytest.raises(ConsumerTimeout):
                next(stream)
            while not (found := drain([stream])):
                produce(node, topic, 1, first=3)
            assert found[0].offset >= 3
            return
        assert [one.offset for one in take(stream, 3)] == [0, 1, 2]


def test_the_registry_z1_z2_z3(node, new_topic, group, zookeeper):
    topic = new_topic(2)
    with Consumer.create(config_of(node, group, consumerid="me")) as connector:
        assert connector.consumer_id == f"{group}_me"
        connector.create_message_streams({topic: 1})
        fields = json.loads(zookeeper.get(registry.id_path(group, f"{group}_me")))
        assert (fields["version"], fields["subscription"], fields["pattern"]) == (1, {topic: 1}, "static")
        for partition in range(2):
            assert zookeeper.get(registry.owner_path(group, topic, partition)) == f"{group}_me-0".encode()
            assert zookeeper.owner_session(registry.owner_path(group, topic, partition))
            assert zookeeper.get(registry.offset_path(group, topic, partition)) == b"0"
            assert not zookeeper.owner_session(registry.offset_path(group, topic, partition))
    assert not zookeeper.children(registry.ids_path(group))
    assert not zookeeper.children(registry.owners_path(group, topic))
    generated = Consumer.create(config_of(node, group))
    assert generated.consumer_id.startswith(f"{group}_")
    assert generated.consumer_id != Consumer.create(config_of(node, group)).shutdown()
    generated.shutdown()


def test_an_id_that_another_member_has_is_refused(node, new_topic, group):
    topic = new_topic(1)
    settings = config_of(node, group, consumerid="me", zk_sessiontimeout_ms=4000)
    with Consumer.create(settings) as connector, Consumer.create(settings) as other:
        connector.create_message_streams({topic: 1})
        other._membership._id_wait_s = 0.1
        with pytest.raises(NotAvailable, match="another member has this id"):
            other.create_message_streams({topic: 1})


def owners(zookeeper, group, topic, partitions):
    found = [zookeeper.get(registry.owner_path(group, topic, number)) for number in range(partitions)]
    return [None if one is None else member_of(one.decode()) for one in found]


def test_members_share_and_one_without_partitions_waits_h6(node, new_topic, group, zookeeper):
    topic = new_topic(2)
    members = [Consumer.create(config_of(node, group, consumerid=name)) for name in "abc"]
    for member in members:
        member.create_message_streams({topic: 1})
    wait_until(lambda: owners(zookeeper, group, topic, 2) == [f"{group}_a", f"{group}_b"])
    assert members[2].owned == {}
    produce(node, topic, 3)
    members[0].shutdown()
    wait_until(lambda: owners(zookeeper, group, topic, 2) == [f"{group}_b", f"{group}_c"])
    for member in members[1:]:
        member.shutdown()


def test_a_claim_of_another_member_fails_the_attempt_which_leaves_nothing_z5(node, new_topic, group, zookeeper):
    topic = new_topic(3)
    blocked = registry.owner_path(group, topic, 1)
    zookeeper.create(blocked, b"stranger-0", True)
    connector = Consumer.create(config_of(node, group, rebalance_retries_max=2))
    connector.create_message_streams({topic: 1})
    assert "after" not in str(connector.failure)
    assert "2 attempts" in str(connector.failure)
    assert connector.owned == {}
    assert owners(zookeeper, group, topic, 3) == [None, "stranger", None]
    zookeeper.delete(blocked)
    wait_until(lambda: len(connector.owned) == 3)
    assert connector.failure is None
    connector.shutdown()


def expire(node, connector):
    """End a member's session as if it had been away for too long: another connection takes it over and closes it."""
    client = connector._zookeeper._client
    thief = KazooClient(node.zookeeper, client_id=client.client_id)
    thief.start(DEADLINE_S)
    thief.stop()
    thief.close()


def test_a_lost_session_registers_again_z4(node, new_topic, group, zookeeper):
    topic = new_topic(2)
    produce(node, topic, 4)
    with Consumer.create(config_of(node, group)) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        assert len(take(stream, 4)) == 4
        before = connector._zookeeper.session_id
        expire(node, connector)
        wait_until(lambda: connector._zookeeper.session_id not in (0, before))
        wait_until(lambda: owners(zookeeper, group, topic, 2) == [connector.consumer_id] * 2)
        for partition in range(2):
            path = registry.owner_path(group, topic, partition)
            wait_until(lambda path=path: zookeeper.owner_session(path) == connector._zookeeper.session_id)
        produce(node, topic, 4, first=4)
        wait_until(
            lambda: {b"4", b"5", b"6", b"7"} <= {one.message for one in drain([stream])} or produce(node, topic, 4, 4)
        )


def test_the_audit_finds_lost_and_stray_owner_nodes(node, new_topic, group, zookeeper, monkeypatch):
    monkeypatch.setattr(consumer_module, "AUDIT_S", 0.05)
    topic, stray = new_topic(2), TopicPartition("", 9)
    with Consumer.create(config_of(node, group)) as connector:
        connector.create_message_streams({topic: 1})
        zookeeper.delete(registry.owner_path(group, topic, 0))
        wait_until(lambda: owners(zookeeper, group, topic, 2) == [connector.consumer_id] * 2)
        stray = registry.owner_path(group, topic, 9)
        zookeeper.create(stray, f"{connector.consumer_id}-0".encode(), True)
        wait_until(lambda: zookeeper.get(stray) is None)
        wait_until(lambda: len(connector.owned) == 2)


class LateEvent(threading.Event):
    """What is set comes at the worst moment: when a wait has timed out, before its caller goes on."""

    def __init__(self):
        super().__init__()
        self.is_pending = False

    def set(self):
        self.is_pending = True

    def wait(self, timeout=None):
        is_set = super().wait(timeout)
        if not is_set and self.is_pending:
            self.is_pending = False
            super().set()
        return is_set


def test_a_change_that_comes_when_a_wait_has_timed_out_is_seen(node, new_topic, group, zookeeper):
    """The campaign beside Kafka 0.8.2's consumers found it: one member kept an old assignment, and the group stood still."""
    topic = new_topic(2)
    connector = Consumer.create(config_of(node, group, consumerid="a", autocommit_interval_ms=20))
    connector._wake = LateEvent()
    connector._zookeeper._on_change = connector._wake.set
    connector.create_message_streams({topic: 1})
    with Consumer.create(config_of(node, group, consumerid="b")) as other:
        other.create_message_streams({topic: 1})
        wait_until(lambda: owners(zookeeper, group, topic, 2) == [f"{group}_a", f"{group}_b"])
    wait_until(lambda: owners(zookeeper, group, topic, 2) == [f"{group}_a"] * 2)
    connector.shutdown()


def test_a_snapshot_whose_watches_were_lost_is_replaced_by_the_audit(node, new_topic, group, zookeeper, monkeypatch):
    monkeypatch.setattr(consumer_module, "AUDIT_S", 0.05)
    topic = new_topic(2)
    with Consumer.create(config_of(node, group, consumerid="a")) as connector:
        connector._zookeeper._on_change = lambda: None
        connector.create_message_streams({topic: 1})
        with Consumer.create(config_of(node, group, consumerid="b")) as other:
            other.create_message_streams({topic: 1})
            wait_until(lambda: owners(zookeeper, group, topic, 2) == [f"{group}_a", f"{group}_b"])


STEPS = (("zookeeper", False), ("kafka", True), ("kafka", False), ("zookeeper", True), ("zookeeper", False))


def test_offsets_move_to_kafka_and_back_z6(node, new_topic, group):
    """Each step is another member, after the one before; none reads a message again, none skips one."""
    topic = new_topic(1)
    produce(node, topic, 2 * len(STEPS))
    name, stored = TopicPartition(topic, 0), []
    for place, (storage, is_dual) in enumerate(STEPS):
        settings = config_of(node, group, offsets_storage=storage, dual_commit_enabled=str(is_dual))
        with Consumer.create(settings) as connector:
            (stream,) = connector.create_message_streams({topic: 1})[topic]
            assert [one.offset for one in take(stream, 2)] == [2 * place, 2 * place + 1]
        with SimpleConsumer(*node.address) as asked:
            stored.append([asked.fetch_offsets(group, [name], kind).get(name) for kind in ("zookeeper", "kafka")])
    assert stored == [[2, None], [4, 4], [4, 6], [8, 8], [10, 8]]


class Kept:
    def __init__(self, **offsets):
        self.offsets = offsets

    def commit(self, offsets):
        self.offsets.update(offsets)

    def fetch(self, names):
        return {name: self.offsets[name] for name in names if name in self.offsets}

    def close(self):
        pass


def test_dual_offsets_are_written_to_both_and_read_from_the_further_one_z6():
    first, second = Kept(a=1, b=5), Kept(a=3, c=0)
    dual = offset_store("kafka", True, first, second)
    assert isinstance(dual, DualOffsets)
    assert dual.fetch(["a", "b", "c", "d"]) == {"a": 3, "b": 5, "c": 0}
    dual.commit({"d": 2})
    assert first.offsets["d"] == second.offsets["d"] == 2
    assert offset_store("kafka", False, first, second) is second
    assert offset_store("zookeeper", False, first, second) is first


def test_a_stream_drops_what_was_revoked_and_raises_what_does_not_decode():
    stream = KafkaStream("s", DefaultDecoder(), StringDecoder(), 0, 2)
    one, other = OwnedPartition(TopicPartition("t", 0), stream, 0), OwnedPartition(TopicPartition("t", 1), stream, 0)
    rows = [Record(0, 1, None, b"a"), Record(1, 1, None, b"\xff"), Record(2, 1, None, b"c")]
    for partition in (one, other):
        assert stream.put(partition, ByteBufferMessageSet(partition.name, build_message_set(rows, 1), 0, 3))
    assert not stream.has_room
    assert next(stream).message == "a"
    assert one.consumed_offset == 0
    with pytest.raises(UnicodeDecodeError):
        next(stream)
    assert one.consumed_offset == 1
    assert stream.revoke(one) == 1
    assert not stream.put(one, None)
    found = next(stream)
    assert (found.partition, found.offset) == (1, 0), "the rest of the revoked partition is dropped"
    assert one.consumed_offset == 1
    stream.settle_own()
    assert other.consumed_offset == 1
    stream.close()
    assert list(stream) == []


def test_a_partition_that_was_claimed_again_outlives_a_fetch_of_its_former_claim():
    """Else nothing fetches it until the next rebalance. A member does so after a lost session, within the wait of one fetch."""
    name = TopicPartition("t", 0)
    stream = KafkaStream("s", DefaultDecoder(), DefaultDecoder(), 0, 2)
    former, again = (Fetched(OwnedPartition(name, stream, 0), 0, 1000) for _ in range(2))
    given_back = []
    config = ConsumerConfig.of({"zk.connect": "127.0.0.1:1", "groupid": "g"})
    fetcher = FetcherThread(Address("127.0.0.1", 1), 0, config, given_back.extend)
    data = build_message_set([Record(0, 1, None, b"a")], 1)

    def multifetch(requests):
        if len(asked) == 0:
            fetcher.remove([name])
            stream.revoke(former.owned)
            fetcher.add(again)
        asked.append(requests)
        return [ByteBufferMessageSet(name, data, 0, 1)]

    asked = []
    fetcher._consumer.multifetch = multifetch
    fetcher.add(former)
    for _ in range(2):
        fetcher._fetch(fetcher._due())
    assert next(stream).message == b"a"
    assert given_back == []


def test_counts_of_streams_are_checked(node, group):
    connector = Consumer.create(ConsumerConfig.of(config_of(node, group)))
    with pytest.raises(ConfigError, match="0 for streams of t: expected 1 or more"):
        connector.create_message_streams({"t": 0})
    with pytest.raises(ConfigError, match="0 for num_streams"):
        connector.create_message_streams_by_filter(Whitelist("t"), 0)
    connector.shutdown()


class Member:
    """A connector whose streams threads read until it is shut down or dies."""

    def __init__(self, node, group, pattern, seen):
        self.connector = Consumer.create(config_of(node, group, autocommit_interval_ms=50, consumer_timeout_ms=-1))
        streams = self.connector.create_message_streams_by_filter(Whitelist(pattern), 2)
        self.threads = [threading.Thread(target=self._read, args=(stream, seen), daemon=True) for stream in streams]
        for thread in self.threads:
            thread.start()

    def _read(self, stream, seen):
        for one in stream:
            seen.add((one.topic, one.partition, one.offset))

    def die(self):
        """The session ends, nothing is committed or released."""
        self.connector._store = Kept()
        self.connector._membership.release = lambda names: None
        self.connector._membership.leave = lambda: None
        self.end()

    def end(self):
        self.connector.shutdown()
        for thread in self.threads:
            thread.join(DEADLINE_S)


@pytest.mark.parametrize("seed", [1, 2])
def test_members_come_go_die_and_lose_sessions_while_a_topic_is_added(node, new_topic, group, zookeeper, seed):
    """After each step each partition has one owner, a live member; no message is skipped."""
    chance = random.Random(seed)
    topics = {new_topic(3, f"{group}-t0"): 3, new_topic(2, f"{group}-t1"): 2}
    seen, sent = set(), 0
    members = [Member(node, group, f"{group}-t.*", seen) for _ in range(3)]

    def one_owner_each():
        live = {member.connector.consumer_id for member in members}
        found = {topic: owners(zookeeper, group, topic, count) for topic, count in topics.items()}
        held = [name for member in members for name in member.connector.owned]
        total = sum(topics.values())
        return all(owner in live for rows in found.values() for owner in rows) and len(held) == len(set(held)) == total

    steps = ["add", "leave", "die", "expire", "topic", "die", "add", "expire"]
    chance.shuffle(steps)
    for step in steps:
        if step == "topic":
            topics[new_topic(2, f"{group}-t2")] = 2
        elif step == "expire":
            expire(node, chance.choice(members).connector)
        elif step == "add" or len(members) < 2:
            members.append(Member(node, group, f"{group}-t.*", seen))
        else:
            member = members.pop(chance.randrange(len(members)))
            (member.die if step == "die" else member.end)()
        for topic in topics:
            produce(node, topic, 20, first=sent)
        sent += 20
        wait_until(one_owner_each, lambda step=step: f"seed {seed}, {step}: {[m.connector.owned for m in members]}")
    with SimpleConsumer(*node.address) as asked:
        ends = {
            (topic, number): asked.get_offsets_before(topic, number, -1, 1)[0]
            for topic, count in topics.items()
            for number in range(count)
        }
    wanted = {(topic, number, offset) for (topic, number), end in ends.items() for offset in range(end)}
    wait_until(lambda: wanted <= seen, lambda: f"seed {seed}: skipped {sorted(wanted - seen)[:10]}")
    for member in members:
        member.end()
