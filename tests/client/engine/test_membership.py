"""Members of groups over a model coordinator: who owns what, and what a consumer is asked to do, under faults by seed."""

import re

import pytest

from headrace.client.engine.coordinator import Coordinator, fetch_committed, store_committed
from headrace.client.engine.membership import Assigned, Lost, Membership, MembershipOptions, MemberState, Revoked
from headrace.client.failures import ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from tests.support.model_cluster import ModelCluster
from tests.support.model_network import Network

pytestmark = pytest.mark.slow

PARTITIONS = 6
ALL = {TopicPartition("t", index) for index in range(PARTITIONS)}
COOPERATIVE = ("cooperative-sticky",)


@pytest.fixture
def cluster():
    return ModelCluster(3, {"t": PARTITIONS})


@pytest.fixture
def network(cluster):
    made = Network(cluster)
    yield made
    made.close()


class Consumer:
    """A member and the consumer over it: acts on events, unless it is silent."""

    def __init__(self, network, **options):
        self.network = network
        self.engine = network.client()
        given = {"group_id": "g", "assignors": ("range",), **options}
        self.options = MembershipOptions(**given)
        self.membership = Membership(self.engine.requests, self.engine.tasks, self.engine.metadata, self.options)
        self.engine.metadata.want(["t"])
        self.owned = set()
        self.log = []
        self.is_silent = False
        self.is_gone = False
        self.act_s = 0.05
        self.membership.subscribe(["t"])
        self.step()

    def step(self):
        if self.is_gone:
            return
        self.network.after(self.act_s, self.step)
        if self.is_silent:
            return
        self.membership.polled()
        while self.membership.events:
            event = self.membership.events[0]
            self.log.append(event)
            if isinstance(event, Assigned):
                assert not self.owned & set(event.partitions)
                self.owned |= set(event.partitions)
            else:
                self.owned -= set(event.partitions)
            self.membership.acknowledge()

    def vanish(self):
        """The process dies."""
        self.is_gone = True
        self.owned = set()
        self.network.engines.remove(self.engine)
        self.engine.close(ConnectionFailed("gone"))
        self.network.serve(self.engine)

    def close(self):
        self.is_gone = True
        self.owned = set()
        return self.membership.leave()


def are_settled(consumers):
    def look():
        owned = [one.owned for one in consumers]
        return sum(map(len, owned)) == PARTITIONS and set().union(*owned) == ALL

    return look


def kinds(consumer):
    return [type(event) for event in consumer.log]


@pytest.mark.parametrize("assignors", [("range",), ("roundrobin",), ("sticky",), COOPERATIVE])
def test_members_that_come_and_go_share_all_partitions(network, assignors):
    first = Consumer(network, assignors=assignors)
    network.run_until(are_settled([first]), 20)
    second = Consumer(network, assignors=assignors)
    network.run_until(lambda: are_settled([first, second])() and len(second.owned) == PARTITIONS // 2, 20)
    network.result(second.close())
    network.run_until(are_settled([first]), 20)


def test_a_cooperative_member_keeps_what_stays(network):
    first = Consumer(network, assignors=COOPERATIVE)
    network.run_until(are_settled([first]), 20)
    second = Consumer(network, assignors=COOPERATIVE)
    network.run_until(lambda: len(second.owned) == 3, 20)
    revoked = [event for event in first.log if isinstance(event, Revoked)]
    assert [len(event.partitions) for event in revoked] == [3]
    assert Lost not in kinds(first)


def test_a_slow_revocation_causes_no_further_rebalance(network, cluster):
    first = Consumer(network, heartbeat_interval_ms=100)
    network.run_until(are_settled([first]), 20)
    first.act_s = 2.0  # many heartbeats say that the group rebalances meanwhile
    second = Consumer(network, heartbeat_interval_ms=100)
    network.run_until(lambda: len(second.owned) == 3, 60)
    generation = cluster.groups.groups["g"].generation
    network.run(30)
    assert cluster.groups.groups["g"].generation == generation


def test_a_member_that_dies_is_replaced_after_its_session(network):
    first, second = Consumer(network, session_timeout_ms=6_000), Consumer(network, session_timeout_ms=6_000)
    network.run_until(are_settled([first, second]), 20)
    second.vanish()
    network.run_until(are_settled([first]), 30)


def test_a_static_member_that_starts_again_gets_its_partitions_back(network, cluster):
    first = Consumer(network, instance_id="a")
    second = Consumer(network, instance_id="b")
    network.run_until(are_settled([first, second]), 20)
    had = set(second.owned)
    second.vanish()
    again = Consumer(network, instance_id="b")
    network.run_until(are_settled([first, again]), 20)
    assert again.owned == had


def test_a_second_member_of_one_instance_id_fences_the_first(network):
    first = Consumer(network, instance_id="a")
    network.run_until(are_settled([first]), 20)
    second = Consumer(network, instance_id="a")
    network.run_until(lambda: first.membership.failure is not None, 30)
    network.run_until(lambda: second.owned == ALL and not first.owned, 30)
    assert first.membership.failure.code is ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize("assignors", [("range",), COOPERATIVE])
def test_a_silent_consumer_loses_its_partitions_and_joins_again_when_it_polls(network, assignors):
    first = Consumer(network, assignors=assignors, max_poll_interval_ms=5_000)
    second = Consumer(network, assignors=assignors, max_poll_interval_ms=5_000)
    network.run_until(are_settled([first, second]), 30)
    first.is_silent = True
    network.run_until(lambda: second.owned == ALL, 60)
    assert first.membership.events
    first.is_silent = False
    network.run_until(lambda: are_settled([first, second])() and first.owned, 60)


def test_a_consumer_that_is_silent_once_it_is_assigned_loses_it_too(network):
    first = Consumer(network, max_poll_interval_ms=5_000)
    first.is_silent = True
    network.run_until(lambda: first.membership.events, 20)
    assert isinstance(first.membership.events[0], Assigned)
    second = Consumer(network, max_poll_interval_ms=5_000)
    network.run_until(lambda: second.owned == ALL, 60)
    assert [type(event) for event in first.membership.events][-1] is Lost
    first.is_silent = False
    network.run_until(are_settled([first, second]), 60)


def test_a_member_that_is_removed_while_it_revokes_owns_nothing_of_that_assignment(network, cluster):
    first = Consumer(network, assignors=COOPERATIVE, heartbeat_interval_ms=100)
    network.run_until(are_settled([first]), 20)
    second = Consumer(network, assignors=COOPERATIVE, heartbeat_interval_ms=100)
    network.run_until(lambda: any(isinstance(event, Revoked) for event in first.membership.events), 20)
    first.is_silent = True  # it does not act on the revocation
    cluster.groups.remove(cluster.groups.groups["g"], first.membership.member_id)
    network.run_until(lambda: any(isinstance(event, Lost) for event in first.membership.events), 20)
    first.is_silent = False
    network.run_until(lambda: are_settled([first, second])() and len(first.owned) == 3, 60)
    assert first.owned == set(first.membership.partitions)


def test_a_coordinator_that_moves_is_found_again(network, cluster):
    first, second = Consumer(network), Consumer(network)
    network.run_until(are_settled([first, second]), 20)
    generation = cluster.groups.groups["g"].generation
    cluster.groups.coordinator = 2
    network.run(60)
    assert are_settled([first, second])()
    assert cluster.groups.groups["g"].generation == generation
    cluster.stop(2)
    cluster.groups.coordinator = 1
    network.run(60)
    assert are_settled([first, second])()


def test_an_error_that_joining_again_does_not_cure_ends_the_membership(network, cluster):
    cluster.failures[ApiKey.JOIN_GROUP].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    first = Consumer(network)
    network.run_until(lambda: first.membership.failure is not None, 20)
    assert first.membership.state is MemberState.UNJOINED


def test_heartbeats_that_may_not_be_sent_end_the_membership(network, cluster):
    first = Consumer(network)
    network.run_until(are_settled([first]), 20)
    cluster.failures[ApiKey.FIND_COORDINATOR].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    first.membership.coordinator.forget()
    network.run_until(lambda: first.membership.failure is not None, 20)
    assert first.membership.failure.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_refusals_of_joins_are_retried_with_pauses(network, cluster):
    cluster.failures[ApiKey.JOIN_GROUP] += [ErrorCode.UNKNOWN_MEMBER_ID] * 8
    began_s = network.now_s
    first = Consumer(network)
    network.run_until(are_settled([first]), 60)
    assert network.now_s - began_s > 1


@pytest.mark.parametrize("version", [(0, 1), (0, 3), (0, 9)])
def test_brokers_of_old_releases_have_members_too(network, cluster, version):
    for broker in cluster.brokers.values():
        broker.versions[ApiKey.JOIN_GROUP] = version
        if version[1] < 4:
            broker.versions |= {ApiKey.SYNC_GROUP: (0, 1), ApiKey.HEARTBEAT: (0, 1), ApiKey.LEAVE_GROUP: (0, 1)}
            broker.versions |= {ApiKey.FIND_COORDINATOR: (0, 1), ApiKey.OFFSET_COMMIT: (0, 3)}
    first, second = Consumer(network), Consumer(network)
    network.run_until(are_settled([first, second]), 20)
    network.result(first.membership.commit({TopicPartition("t", 0): (7, -1, "")}))
    assert cluster.groups.committed["g", TopicPartition("t", 0)] == (7, -1)


def test_leaving_in_the_middle_of_a_join_ends_everything(network, cluster):
    network.delay_s = (0.2, 0.2)
    first = Consumer(network)
    network.run_until(lambda: any(key is ApiKey.JOIN_GROUP for key, *_ in cluster.brokers[0].asked), 20)
    network.result(first.close(), 20)
    network.run(20)
    assert first.membership.state is MemberState.LEFT
    second = Consumer(network)
    network.run_until(are_settled([second]), 60)


def test_new_partitions_and_topics_of_a_pattern_are_shared(network, cluster):
    first = Consumer(network)
    first.membership.subscribe(pattern=re.compile("t|u"))
    network.run_until(lambda: first.owned == ALL, 20)
    cluster.create("u", 1)
    cluster.tell()
    first.engine.metadata.mark_stale()
    network.run_until(lambda: TopicPartition("u", 0) in first.owned, 30)


def test_a_later_commit_is_not_taken_back_by_the_retry_of_an_earlier_one(network, cluster):
    engine = network.client()
    coordinator = Coordinator(engine.requests, "g")
    name = TopicPartition("t", 0)
    cluster.failures[ApiKey.OFFSET_COMMIT] += [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3
    tasks = [engine.start(store_committed(coordinator, {name: (at, 0, "")}), "commit") for at in (10, 20, 30)]
    for task in tasks:
        assert network.result(task) == 0
    assert [at for _name, at in cluster.groups.commits] == [10, 20, 30]
    assert network.result(engine.start(fetch_committed(coordinator, [name]), "fetch"))[name].offset == 30


def test_a_commit_that_is_given_up_lets_the_next_one_go(network, cluster):
    engine = network.client()
    coordinator = Coordinator(engine.requests, "g")
    name = TopicPartition("t", 0)
    cluster.failures[ApiKey.OFFSET_COMMIT] += [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1000
    first = engine.start(store_committed(coordinator, {name: (10, 0, "")}), "commit")
    second = engine.start(store_committed(coordinator, {name: (20, 0, "")}), "commit")
    network.run(1)
    first.cancel()
    cluster.failures[ApiKey.OFFSET_COMMIT].clear()
    assert network.result(second) == 0


def test_a_commit_of_a_removed_member_is_refused(network, cluster):
    first = Consumer(network)
    network.run_until(are_settled([first]), 20)
    first.membership._forget_generation()
    with pytest.raises(KafkaError, match="removed"):
        network.result(first.membership.commit({TopicPartition("t", 0): (1, 0, "")}))


@pytest.mark.parametrize("assignors", [("range",), ("sticky",), COOPERATIVE])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_fails_no_partition_is_owned_twice_by_living_members_and_all_are_read_in_the_end(seed, assignors):
    cluster = ModelCluster(3, {"t": PARTITIONS})
    network = Network(cluster, seed)
    chance = network.random
    network.delay_s = (0.001, chance.choice((0.01, 0.3)))
    options = {
        "assignors": assignors,
        "session_timeout_ms": 10_000,
        "heartbeat_interval_ms": 500,
        "max_poll_interval_ms": 8_000,
    }
    consumers = [Consumer(network, **options) for _ in range(2)]

    def check():
        """Of members of the present generation."""
        group = cluster.groups.groups.get("g")
        if group is not None and group.state == "stable":
            owners = [
                one
                for one in consumers
                if not one.is_gone
                and not one.is_silent
                and one.membership.generation == group.generation
                and one.membership.state is MemberState.STABLE
                and not one.membership.events
            ]
            owned = [name for one in owners for name in one.membership.partitions]
            assert len(owned) == len(set(owned)), f"owned twice, seed {seed}"
        network.after(0.02, check)

    network.after(0.02, check)
    network.lost_answers = chance.choice((0, 0.02))
    for _ in range(25):
        network.run(chance.uniform(0.1, 4))
        kind = chance.choice(("come", "die", "leave", "silent", "move", "remove", "stop", "slow"))
        alive = [one for one in consumers if not one.is_gone]
        if kind == "come" and len(alive) < 5:
            consumers.append(Consumer(network, **options))
        elif kind == "die" and len(alive) > 1:
            chance.choice(alive).vanish()
        elif kind == "leave" and len(alive) > 1:
            chance.choice(alive).close()
        elif kind == "silent":
            one = chance.choice(alive)
            one.is_silent = True
            network.after(chance.uniform(1, 20), lambda one=one: setattr(one, "is_silent", False))
        elif kind == "move":
            cluster.groups.coordinator = chance.choice(list(cluster.brokers))
        elif kind == "remove":
            group = cluster.groups.groups.get("g")
            if group is not None and group.members:
                cluster.groups.remove(group, chance.choice(list(group.members)))
        elif kind == "stop":
            node_id = cluster.groups.coordinator
            cluster.stop(node_id)
            network.after(chance.uniform(0.1, 5), lambda node_id=node_id: cluster.start(node_id))
        elif kind == "slow":
            chance.choice(alive).act_s = chance.choice((0.02, 0.5, 2.0))
    network.lost_answers = 0
    network.run(25)
    for node_id in cluster.brokers:
        cluster.start(node_id)
    alive = [one for one in consumers if not one.is_gone]
    network.run_until(are_settled(alive), 120, f"an end of seed {seed}")
    assert all(one.owned == set(one.membership.partitions) for one in alive)
    network.close()
