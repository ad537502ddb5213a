"""The snapshot: what goes in comes out, in one piece, and outlives its writer."""

import itertools
import random
import time

import pytest

from headrace.shm import cluster_table, layout, view_log, view_writer
from headrace.shm.cluster_table import ClusterTable
from headrace.shm.cluster_view import (
    EMPTY_VIEW,
    BrokerView,
    ClusterView,
    DeletedTopic,
    DoomedReplica,
    PartitionView,
    ReleasedTopic,
    TopicView,
    ViewError,
)
from headrace.shm.region import Region
from headrace.shm.view_reader import ClusterViewReader
from headrace.shm.view_writer import ClusterViewWriter
from tests.support.random_cluster import RandomCluster, normal
from tests.support.stepping import die_at, end, fork, steps
from tests.support.waiting import DEADLINE_S

HALF_BYTES = 8192
ROWS = 256


def view_of(topic_count: int, cluster_id: str = "c") -> ClusterView:
    partition = PartitionView(0, 1, 7, (1, 2), (1, 2, 3), (3,), 4, 2**32 - 1)
    topics = {
        f"t{number}": TopicView(f"t{number}", "ab" * 16, number == 0, {"retention.ms": "-1"}, (partition,))
        for number in range(topic_count)
    }
    brokers = {1: BrokerView(1, "host", 9092, None), 2: BrokerView(2, "::1", 9093, "rack ü")}
    doomed = (DoomedReplica("gone", 3, 9, 12), DoomedReplica("gone", 4, 10, 13), DoomedReplica("odd", 0, 11, 14))
    deleted = (DeletedTopic("gone", "cd" * 16), DeletedTopic("gone", ""), DeletedTopic("elsewhere", "ef" * 16))
    released = (ReleasedTopic("lost", "ab" * 16, ((1, 2), (2, 1)), (-1, 7)),)
    return ClusterView(0, cluster_id, 1, brokers, topics, doomed, deleted=deleted, released=released)


def with_partitions(count: int, name: str = "t") -> ClusterView:
    partitions = tuple(PartitionView(index, 1, 0, (1,), (1,), (), index, index) for index in range(count))
    return EMPTY_VIEW._replace(topics={name: TopicView(name, f"{ord(name):032x}", False, {}, partitions)})


def new_region(names, half_bytes: int = HALF_BYTES, rows: int = ROWS) -> Region:
    region = Region.create(names(), layout.view_region_bytes(half_bytes, rows))
    layout.lay_out_view(region.words, rows)
    return region


@pytest.fixture
def region(names):
    return new_region(names)


def test_before_the_first_publication_the_view_is_empty(region):
    assert ClusterViewReader(region).read() == EMPTY_VIEW
    assert ClusterViewReader(region).version() == 0


@pytest.mark.parametrize("view", [view_of(3), EMPTY_VIEW])
def test_a_view_survives_its_publication(region, view):
    ClusterViewWriter(region).publish(view)
    assert ClusterViewReader(region).read() == view._replace(version=1)


def test_each_publication_has_the_next_version(region):
    writer = ClusterViewWriter(region)
    reader = ClusterViewReader(Region.attach(region.name, writable=False))
    for version in range(1, 6):
        published = writer.publish(view_of(version))
        assert published.version == reader.version() == version
        assert reader.read() == published


def test_a_view_that_does_not_fit_changes_nothing(region):
    writer = ClusterViewWriter(region)
    kept = writer.publish(view_of(1))
    with pytest.raises(
        ViewError, match=r"needs \d+ bytes, the region holds \d+: raise headrace.cluster.partitions.max"
    ):
        writer.publish(view_of(200))
    with pytest.raises(ViewError, match=r"the cluster has 257 partitions, more than .* of 256 allows"):
        writer.publish(with_partitions(257))
    assert ClusterViewReader(region).read() == kept
    again = writer.publish(view_of(2))
    assert ClusterViewReader(region).read() == ClusterViewWriter(region).read() == again


def test_every_row_may_be_used_and_used_again(region):
    writer, reader = ClusterViewWriter(region), ClusterViewReader(region)
    for name in ("t", "u"):  # another topic needs the rows that are left in the same publication
        view = writer.publish(with_partitions(ROWS, name))
        assert writer.room_rows() == 0
        assert reader.read() == ClusterViewReader(region).read() == view
    writer.publish(EMPTY_VIEW)
    assert writer.room_rows() == ROWS


def test_a_log_that_is_full_goes_on_in_the_other_half(region):
    writer = ClusterViewWriter(region)
    writer.publish(view_of(1))
    flips = writer._published.flips
    before = ClusterViewReader(region).read()
    while writer._published.flips == flips:
        before = writer.publish(before._replace(controller_id=before.controller_id ^ 1))
        assert ClusterViewReader(region).read() == before
    assert writer._published.end < HALF_BYTES // 4, "the new half begins with all that the old one said"


@pytest.mark.process
def test_a_controller_process_killed_at_any_step_leaves_the_last_view_or_the_new_one(region):
    """Its successor reads that one back, and goes on."""
    reader = ClusterViewReader(region)
    outcomes = set()
    for step in steps():
        writer = ClusterViewWriter(region)
        old = writer.publish(view_of(1, "old"))
        new = view_of(2, "new")._replace(version=old.version + 1)
        has_finished = die_at(step, lambda: writer.publish(new), [view_writer, view_log, cluster_table], "line")  # noqa: B023
        found = reader.read()
        assert found in (old, new), f"step {step}"
        assert ClusterViewReader(region).read() == found
        successor = ClusterViewWriter(Region.attach(region.name))
        again = successor.read()
        assert again._replace(version=0) == found._replace(version=0)
        assert successor.publish(found) == reader.read() == found._replace(version=again.version + 1)
        outcomes.add(found.cluster_id)
        if has_finished:
            break
    assert outcomes == {"old", "new"}


@pytest.mark.process
def test_readers_see_whole_views_of_a_controller_that_never_rests(region):
    views = [view_of(count, f"view {count}") for count in (1, 9, 30)]

    def publish_for_ever() -> None:
        writer = ClusterViewWriter(region)
        for view in itertools.cycle(views):
            writer.publish(view)

    pid = fork(publish_for_ever)
    reader = ClusterViewReader(region)
    deadline = time.monotonic() + DEADLINE_S
    last = reads = 0
    while reads < 200 or last < 200:
        assert time.monotonic() < deadline, f"{reads} reads up to version {last}"
        view = reader.read()
        assert view.version >= last
        last = view.version
        if last:
            assert_seen(view, views)
            reads += 1
    end(pid)


def assert_seen(found: ClusterView, views: list[ClusterView]) -> None:
    """A whole view; but the row of a topic that has left it since may be another's, and says nothing then."""
    (view,) = (view for view in views if view.cluster_id == found.cluster_id)
    assert normal(found._replace(version=0, topics={})) == normal(view._replace(topics={}))
    assert found.topics.keys() == view.topics.keys()
    for name, topic in found.topics.items():
        (partition,), (right,) = topic.partitions, view.topics[name].partitions
        assert topic._replace(partitions=()) == view.topics[name]._replace(partitions=())
        assert partition in (right, PartitionView(0, -1, 0, (), right.replicas))


def test_flipped_bits_are_a_clear_error_or_an_older_view(region):
    """Of the words that say where a view is, and of the log; rows have no checksum, as those of the partition table."""
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    writer = ClusterViewWriter(region)
    views = [EMPTY_VIEW, writer.publish(view_of(1, "old"))]
    behind = ClusterViewReader(region)
    behind.read()
    views.append(writer.publish(view_of(2, "new")))
    first = layout.VIEW_VERSION * 64
    descriptors = range(first, (layout.VIEW_DESCRIPTORS + 2 * layout.VIEW_DESCRIPTOR_WORDS) * 64)
    halves = layout.view_halves_start(ROWS) * 8
    body = range(halves, halves + 2 * HALF_BYTES * 8)
    for bit in (*descriptors, *(rng.choice(body) for _ in range(500))):
        region.memory[bit // 8] ^= 1 << bit % 8
        for reader in (ClusterViewReader(region), behind):
            seen, view = reader._seen, reader._view
            try:
                found = reader.read()
            except ViewError:
                found = view
                assert reader._view is view, "nothing of a damaged view was taken"
            assert found in views, f"bit {bit}, seed {seed}"
            reader._seen, reader._view = seen, view
        region.memory[bit // 8] ^= 1 << bit % 8
    assert ClusterViewReader(region).read() == views[-1]


def test_a_topic_that_did_not_change_is_the_same_object_and_is_neither_encoded_nor_decoded(region, monkeypatch):
    writer = ClusterViewWriter(region)
    reader = ClusterViewReader(Region.attach(region.name, writable=False))
    first = view_of(30)
    writer.publish(first)
    before, changes = reader.follow()
    assert changes == dict.fromkeys(first.topics)
    decoded, decode = [], view_log._decode_delta
    monkeypatch.setattr(view_log, "_decode_delta", lambda body: (decoded.append(len(body)), decode(body))[1])
    changed = first.topics["t7"]._replace(configs={"retention.ms": "9\n"})
    second = writer.publish(first._replace(topics={**first.topics, "t7": changed}))
    after, changes = reader.follow()
    assert changes == {"t7": None}
    assert after == second
    assert [name for name in after.topics if after.topics[name] is not before.topics[name]] == ["t7"]
    assert len(decoded) == 1
    assert decoded[0] < 200
    writer.publish(second)
    assert reader.follow() == (second._replace(version=3), {})
    assert len(decoded) == 1


def test_a_leader_change_is_one_row_and_no_block(region, monkeypatch):
    writer, reader = ClusterViewWriter(region), ClusterViewReader(region)
    view = writer.publish(with_partitions(100))
    before, _changes = reader.follow()
    assert tuple(before.topics["t"].partitions) == view.topics["t"].partitions
    end, read = writer._published.end, []
    rows = reader._table.read
    monkeypatch.setattr(ClusterTable, "read", lambda _table, row: (read.append(row), rows(row))[1])
    moved = with_leader(view, "t", 42, 7)
    view = writer.publish(moved)
    assert writer._published.end == end
    after, changes = reader.follow()
    assert changes == {"t": {42}}
    assert after.topics["t"] is before.topics["t"]
    assert after.topics["t"].partitions[42].leader == 7
    assert after == view
    assert len(read) == 2  # for the journal's entry, and when it was asked for


def test_who_is_further_behind_than_the_journal_reads_all_rows(region):
    writer, reader = ClusterViewWriter(region), ClusterViewReader(region)
    view = writer.publish(with_partitions(100))
    tuple(reader.follow()[0].topics["t"].partitions)
    for leader in range(2, layout.journal_entries(ROWS) + 3):
        view = writer.publish(with_leader(view, "t", leader % 3, leader))
    after, changes = reader.follow()
    assert changes == {"t": None}
    assert after == view


def test_more_changes_than_the_journal_holds_are_one_publication(names):
    region = new_region(names, 1 << 16, 1024)
    writer, reader = ClusterViewWriter(region), ClusterViewReader(region)
    view = writer.publish(with_partitions(1000))
    tuple(reader.follow()[0].topics["t"].partitions)
    topic = view.topics["t"]
    led = tuple(partition._replace(leader=9) for partition in topic.partitions)
    view = writer.publish(view._replace(topics={"t": topic._replace(partitions=led)}))
    assert reader.follow() == (view, {"t": None})
    view = writer.publish(with_leader(view, "t", 5, 3))
    assert reader.follow() == (view, {"t": {5}})


def test_more_replicas_than_a_row_holds_stand_in_the_topic(region):
    writer, reader = ClusterViewWriter(region), ClusterViewReader(region)
    replicas = tuple(range(1, 12))
    for isr in (replicas, replicas[:2], replicas[:9], ()):
        offline = replicas[len(isr) :][:4]
        partitions = (PartitionView(0, 1, 0, isr, replicas, offline, -1, 0), PartitionView(1, 2, 0, (2,), (2,)))
        view = writer.publish(EMPTY_VIEW._replace(topics={"t": TopicView("t", "", False, {}, partitions)}))
        assert reader.read() == ClusterViewReader(region).read() == ClusterViewWriter(region).read() == view


def with_leader(view: ClusterView, name: str, index: int, leader: int) -> ClusterView:
    topic = view.topics[name]
    partitions = list(topic.partitions)
    partitions[index] = partitions[index]._replace(leader=leader, leader_epoch=partitions[index].leader_epoch + 1)
    return view._replace(topics={**view.topics, name: topic._replace(partitions=tuple(partitions))})


def changes_between(before: ClusterView, after: ClusterView) -> dict[str, frozenset[int] | None]:
    """As whoever made the changes knows them: partitions alone, where nothing else of a topic is another."""
    changes: dict[str, frozenset[int] | None] = {}
    for name in before.topics.keys() | after.topics.keys():
        old, new = before.topics.get(name), after.topics.get(name)
        if old is new:
            continue
        changes[name] = None
        if old is None or new is None or old[:4] != new[:4]:
            continue
        if [one.replicas for one in old.partitions] == [one.replicas for one in new.partitions]:
            pairs = zip(old.partitions, new.partitions, strict=True)
            changes[name] = frozenset(index for index, (one, other) in enumerate(pairs) if one != other)
    return changes


@pytest.mark.slow
@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("round_number", range(30))
def test_a_reader_that_follows_has_what_one_has_that_reads_afresh(names, round_number, is_told):
    """Whatever happens in whatever order, however many versions are skipped; and `follow` names all that changed.

    is_told   whether the writer is told what changed
    """
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    region = new_region(names, half_bytes=2048, rows=64)
    cluster, writer = RandomCluster(rng), ClusterViewWriter(region)
    readers = [(ClusterViewReader(region), pace) for pace in (1.0, 0.3, 0.03)]
    copies = [normal(EMPTY_VIEW) for _reader in readers]
    for step in range(120):
        last, given = cluster.view, cluster.step()
        if rng.random() < 0.05:
            writer = ClusterViewWriter(region)
        published = normal(writer.publish(given, changes_between(last, given) if is_told else None))
        where = f"seed {seed}, step {step}"
        assert normal(ClusterViewReader(region).read()) == published, where
        for place, (reader, pace) in enumerate(readers):
            if rng.random() >= pace:
                continue
            before = copies[place]
            view, changes = reader.follow()
            after = copies[place] = normal(view)
            assert after == published, where
            for name in before.topics.keys() | after.topics.keys():
                assert_told(changes.get(name, frozenset()), before.topics.get(name), after.topics.get(name), where)
    assert writer._published.flips > 1


def assert_told(indexes: frozenset[int] | None, before: TopicView | None, after: TopicView | None, where: str) -> None:
    """What `follow` says of a topic covers how it differs."""
    if indexes is None or before == after:
        return
    assert before is not None, where
    assert after is not None, where
    assert before._replace(partitions=()) == after._replace(partitions=()), where
    assert len(before.partitions) == len(after.partitions), where
    for one, other in zip(before.partitions, after.partitions, strict=True):
        assert one == other or one.index in indexes, where


@pytest.mark.process
def test_a_controller_process_that_begins_in_the_middle_of_a_publication_makes_everybody_read_all_rows(region):
    """Its predecessor changed some rows of many, and was killed: what ZooKeeper says is what half of them have."""
    reader = ClusterViewReader(region)
    outcomes = set()
    for step in steps():
        writer = ClusterViewWriter(region)
        old = writer.publish(with_partitions(5))
        tuple(reader.follow()[0].topics["t"].partitions)
        new = with_leader(with_leader(old, "t", 1, 7), "t", 3, 8)
        has_finished = die_at(step, lambda: writer.publish(new), [cluster_table])  # noqa: B023
        left = ClusterViewReader(region).read().topics["t"].partitions
        for found, *either in zip(left, old.topics["t"].partitions, new.topics["t"].partitions, strict=True):
            assert found in either, step
        outcomes.add(tuple(partition.leader for partition in left))
        published = ClusterViewWriter(Region.attach(region.name)).publish(new)
        assert reader.read() == published == ClusterViewReader(region).read(), step
        if has_finished:
            break
    assert len(outcomes) == 3, outcomes
