"""The snapshot: what goes in comes out, in one piece, and outlives its writer."""

import itertools
import json
import random
import time

import pytest
from stepping import die_at, end, fork, steps
from waiting import DEADLINE_S

from headrace.shm import cluster_view, layout
from headrace.shm.cluster_view import (
    EMPTY_VIEW,
    BrokerView,
    ClusterView,
    ClusterViewReader,
    ClusterViewWriter,
    DeletedTopic,
    DoomedReplica,
    PartitionView,
    ReleasedTopic,
    TopicView,
    ViewError,
    decode_view,
    encode_view,
)
from headrace.shm.region import Region

BUFFER_BYTES = 8192


def view_of(topic_count: int, cluster_id: str = "c") -> ClusterView:
    partition = PartitionView(0, 1, 7, (1, 2), (1, 2, 3), (3,), 4, 2**32 - 1)
    topics = {
        f"t{number}": TopicView(f"t{number}", "ab" * 16, number == 0, {"retention.ms": "-1"}, (partition,))
        for number in range(topic_count)
    }
    brokers = {1: BrokerView(1, "host", 9092, None), 2: BrokerView(2, "::1", 9093, "rack ü")}
    doomed = (DoomedReplica("gone", 3, 9, 12), DoomedReplica("gone", 4, 10, 13), DoomedReplica("odd", 0, 11, 14))
    deleted = (DeletedTopic("gone", "cd" * 16), DeletedTopic("gone", ""), DeletedTopic("elsewhere", "ef" * 16))
    released = (ReleasedTopic("lost", "ab" * 16, ((1, 2), (2, 1))),)
    return ClusterView(0, cluster_id, 1, brokers, topics, doomed, deleted=deleted, released=released)


@pytest.fixture
def region(names):
    return Region.create(names(), layout.view_region_bytes(BUFFER_BYTES))


def test_before_the_first_publication_the_view_is_empty(region):
    assert ClusterViewReader(region).read() == EMPTY_VIEW
    assert ClusterViewReader(region).version() == 0


def test_a_view_survives_its_encoding():
    assert decode_view(encode_view(view_of(3))) == view_of(3)
    assert decode_view(encode_view(EMPTY_VIEW)) == EMPTY_VIEW


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
    with pytest.raises(ViewError, match=r"needs \d+ bytes, the region holds \d+"):
        writer.publish(view_of(200))
    assert ClusterViewReader(region).read() == kept


def test_a_view_may_fill_its_buffer_to_the_last_byte(region):
    writer = ClusterViewWriter(region)
    room = writer._buffer_bytes - len(encode_view(view_of(1)._replace(version=1)))
    full = view_of(1, "c" * (room + 1))
    assert writer.publish(full).cluster_id == full.cluster_id
    assert ClusterViewReader(region).read().cluster_id == full.cluster_id
    with pytest.raises(ViewError):
        writer.publish(view_of(1, "c" * (room + 2)))


def test_a_controller_killed_at_any_step_leaves_the_last_view_or_the_new_one(region):
    writer = ClusterViewWriter(region)
    reader = ClusterViewReader(region)
    outcomes = set()
    for step in steps():
        old = writer.publish(view_of(1, "old"))
        has_finished = die_at(
            step,
            lambda: ClusterViewWriter(Region.attach(region.name)).publish(view_of(2, "new")),  # type: ignore[arg-type]
            [cluster_view],
        )
        found = reader.read()
        assert found in (old, view_of(2, "new")._replace(version=old.version + 1)), f"step {step}"
        successor = ClusterViewWriter(Region.attach(region.name))
        assert successor.read() == found
        assert successor.publish(found) == reader.read() == found._replace(version=found.version + 1)
        outcomes.add(found.cluster_id)
        if has_finished:
            break
    assert outcomes == {"old", "new"}


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
            assert view._replace(version=0) in views
            reads += 1
    end(pid)


def test_flipped_bits_are_a_clear_error_or_an_older_view(region):
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    writer = ClusterViewWriter(region)
    views = [EMPTY_VIEW, writer.publish(view_of(1, "old")), writer.publish(view_of(2, "new"))]
    reader = ClusterViewReader(region)
    descriptors = range(layout.VIEW_VERSION * 64, (layout.VIEW_CRC + layout.VIEW_DESCRIPTOR_WORDS + 1) * 64)
    body = range(layout.VIEW_BUFFERS * 8, (layout.VIEW_BUFFERS + 2 * BUFFER_BYTES) * 8)
    for bit in (*descriptors, *(rng.choice(body) for _ in range(500))):
        region.memory[bit // 8] ^= 1 << bit % 8
        try:
            found = reader.read()
        except ViewError:
            found = views[0]
        assert found in views, f"bit {bit}, seed {seed}"
        region.memory[bit // 8] ^= 1 << bit % 8
    assert reader.read() == views[-1]


def test_the_snapshot_is_compact_json(region):
    data = encode_view(view_of(1))
    assert all(json.loads(line) for line in data.split(b"\n"))
    assert b" " not in data.replace(b"rack ", b"")


def test_a_topic_that_did_not_change_is_the_same_object_and_is_coded_once(region, monkeypatch):
    writer = ClusterViewWriter(region)
    reader = ClusterViewReader(Region.attach(region.name, writable=False))
    coded = []
    line, topic = cluster_view._line, cluster_view._topic
    monkeypatch.setattr(cluster_view, "_line", lambda value: (coded.append("encoded"), line(value))[1])
    monkeypatch.setattr(cluster_view, "_topic", lambda fields: (coded.append("decoded"), topic(fields))[1])
    first = view_of(30)
    writer.publish(first)
    before = reader.read()
    coded.clear()
    changed = first.topics["t7"]._replace(configs={"retention.ms": "9\n"})
    writer.publish(first._replace(topics={**first.topics, "t7": changed}))
    after = reader.read()
    assert coded == ["encoded", "encoded", "decoded"]  # the first line, and the topic
    assert [name for name in after.topics if after.topics[name] is not before.topics[name]] == ["t7"]
    assert after.topics["t7"] == changed
