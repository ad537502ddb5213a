"""What the processes make of a view by following its changes is what they would make of it afresh."""

import random
import uuid
from types import SimpleNamespace

import pytest

from headrace.settings import Settings
from headrace.shm import layout
from headrace.shm.region import Region
from headrace.shm.view_reader import ClusterViewReader
from headrace.shm.view_writer import ClusterViewWriter
from headrace.topic_defaults import TopicDefaults
from headrace.workers.housekeeper.hosted import HostedReplicas
from headrace.workers.network.routes import Route, Routes
from headrace.workers.partition.replicas.owned_partitions import OwnedPartitions
from tests.support.random_cluster import RandomCluster, normal

DEFAULTS = TopicDefaults(Settings({"log.dirs": "/nowhere"}))
WORKERS = 2


@pytest.fixture
def region():
    region = Region.create(f"/headrace-test-{uuid.uuid4().hex[:12]}", layout.view_region_bytes(2048, 64))
    layout.lay_out_view(region.words, 64)
    yield region
    region.unlink()


class Worker:
    """The partitions of one partition worker, by name and index, as `follow` says they came and went."""

    def __init__(self, index, region):
        self.view = ClusterViewReader(region)
        self.owned = OwnedPartitions(index, WORKERS)
        self.index = index
        self.held = {}

    def follow(self):
        view, changes = self.view.follow()
        was, now = self.owned.follow(view.topics, changes)
        left = {(slot, one.key) for slot, one in was.items()}
        self.held = {place: one for place, one in self.held.items() if (one[1].slot, one[1].key) not in left}
        self.held.update({(topic.name, one.index): (topic.configs, one) for topic, one in now.values()})

    def expected(self, view):
        return {
            (topic.name, one.index): (topic.configs, one)
            for topic in view.topics.values()
            for one in topic.partitions
            if one.slot >= 0 and self.owned.has(topic.name, one.index)
        }


def with_places(view):
    """Each partition that is hosted here has a slot of its own, and a key."""
    topics, slot = {}, 0
    for name, topic in view.topics.items():
        partitions = []
        for one in topic.partitions:
            is_here = one.slot >= 0
            partitions.append(
                one._replace(
                    slot=100 * (ord(name[1]) - 48) + one.index if is_here else -1, key=int(topic.topic_id, 16) + 1
                )
            )
            slot += is_here
        topics[name] = topic if tuple(partitions) == topic.partitions else topic._replace(partitions=tuple(partitions))
    return view._replace(topics=topics)


@pytest.mark.parametrize("round_number", range(10))
def test_followers_have_what_one_has_that_begins_afresh(region, round_number):
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    cluster, writer = RandomCluster(rng), ClusterViewWriter(region)
    workers = [Worker(index, region) for index in range(WORKERS)]
    network, routes = ClusterViewReader(region), Routes(1, WORKERS, DEFAULTS)
    for step in range(80):
        published = normal(writer.publish(with_places(cluster.step())))
        where = f"seed {seed}, step {step}"
        for worker in workers:
            if rng.random() < 0.5:
                worker.follow()
                assert worker.held == worker.expected(published), where
        if rng.random() < 0.5:
            view, changes = network.follow()
            routes.follow(view, changes)
            afresh = Routes(1, WORKERS, DEFAULTS)
            afresh.follow(published)
            for name in (f"t{number}" for number in range(6)):
                if rng.random() < 0.7:
                    assert _facts(routes, name) == _facts(afresh, name), where
            for slot, route in routes._slots.items():
                assert route.slot == slot, where
                assert routes.topic(route.topic)[route.index] is route, where


def _facts(routes, name):
    """What routes say, without their policies, which are objects of each."""
    return [[getattr(one, slot) for slot in Route.__slots__ if slot != "policy"] for one in routes.topic(name) or ()]


def test_the_housekeeper_goes_over_what_is_hosted_here(region):
    """Whatever it followed before."""
    rng = random.Random(7)
    cluster, writer = RandomCluster(rng), ClusterViewWriter(region)
    wiring = SimpleNamespace(settings=DEFAULTS.settings)
    following = HostedReplicas(SimpleNamespace(view=ClusterViewReader(region), wiring=wiring), [])
    for _ in range(80):
        writer.publish(with_places(cluster.step()))
        following.view()
        afresh = HostedReplicas(SimpleNamespace(view=ClusterViewReader(region), wiring=wiring), [])
        afresh.view()
        assert _places(following) == _places(afresh)
    assert _places(following)


def _places(replicas):
    return {name: (topic.configs, here) for name, (topic, here) in replicas._here.items()}
