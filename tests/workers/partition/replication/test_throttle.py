"""A throttled follower pays for what it took; one that is in sync, or not named, is never held back; a lifted throttle frees at once."""

import pytest

from headrace.ids import TopicPartition
from headrace.limits import REPLICATION_RATE_MAX, THROTTLE_PAUSE_MS_MAX
from headrace.shm.cluster_view import EMPTY_VIEW, TopicView
from headrace.shm.counters import NAMES, Counters
from headrace.workers.partition.replication.follower_states import FollowerState
from headrace.workers.partition.replication.throttle import Throttle
from tests.workers.partition.replication.log_leader import LedLog, LogLeader

RATE_KEY, REPLICAS_KEY = "follower.replication.throttled.rate", "follower.replication.throttled.replicas"
THIS = TopicPartition("t", 0)


def view(replicas="*", rate=None, cluster_rate=None):
    topic = TopicView("t", "", False, {REPLICAS_KEY: replicas}, ())
    node = {} if rate is None else {RATE_KEY: str(rate)}
    cluster = {} if cluster_rate is None else {RATE_KEY: str(cluster_rate)}
    return EMPTY_VIEW._replace(topics={"t": topic}, node_settings=node, cluster_settings=cluster)


def counters():
    return Counters(memoryview(bytearray(8 * len(NAMES))).cast("Q"), 0)


def throttle(own=None, others=(), **given):
    made = Throttle(3, REPLICATION_RATE_MAX, own or counters(), others)
    made.follow(view(**given))
    return made


def test_bytes_are_paid_for_at_the_rate():
    one = throttle(rate=1_000)
    one.took(500, 10_000)
    assert one.pause_ms(THIS, 10_000) == 500
    assert one.pause_ms(THIS, 10_500) == 0
    one.took(100_000, 20_000)
    assert one.pause_ms(THIS, 20_000) == THROTTLE_PAUSE_MS_MAX


def two_workers():
    first, second = counters(), counters()
    return throttle(own=first, others=[second], rate=1_000), throttle(own=second, others=[first], rate=1_000)


def test_a_worker_has_all_of_the_rate_where_no_other_one_wants_it():
    one, two = two_workers()
    assert (one.pause_ms(THIS, 10_000), two.pause_ms(THIS, 10_000)) == (0, 0)
    one.took(100, 10_000)
    assert one.pause_ms(THIS, 10_000) == 100
    assert two.pause_ms(THIS, 10_000) == 100, "the rate is the node's"
    two.took(100, 10_100)
    assert (one.pause_ms(THIS, 10_100), two.pause_ms(THIS, 10_100)) == (100, 100)


def test_a_worker_that_was_idle_does_not_owe_what_another_one_has_paid():
    one, two = two_workers()
    two.pause_ms(THIS, 10_000)
    for now_ms in range(10_000, 20_000, 1_000):
        one.took(1_000, now_ms)
    assert two.pause_ms(THIS, 20_000) == 0


@pytest.mark.parametrize(
    ("replicas", "is_held"),
    [("*", True), ("0:3", True), ("1:3,0:3", True), ("1:3, 0:3", True), ("0:33", False), ("1:3", False), ("", False)],
)
def test_it_holds_for_the_replicas_that_the_topic_names(replicas, is_held):
    assert throttle(replicas=replicas, rate=1).holds(THIS) is is_held
    assert throttle(replicas=replicas, rate=1).holds(TopicPartition("other", 0)) is False


def test_the_rate_of_the_node_comes_before_the_clusters_and_another_rate_forgives():
    one = throttle(rate=1_000, cluster_rate=1)
    one.took(500, 0)
    assert one.pause_ms(THIS, 1) == 499
    one.follow(view(cluster_rate=1_000_000))
    assert one.pause_ms(THIS, 1) == 0
    one.took(10_000, 0)
    assert one.pause_ms(THIS, 0) == 10


@pytest.fixture
def led(tmp_path):
    (tmp_path / "leader").mkdir()
    return LedLog(tmp_path / "leader")


@pytest.fixture
def leader(led):
    leader = LogLeader(led)
    yield leader
    leader.close()


SLOW = {RATE_KEY: "1000", "replica.fetch.max.bytes": "4000", "replica.fetch.response.max.bytes": "4000"}


def test_a_follower_behind_its_leader_waits_and_has_everything_in_the_end(make_rig, leader, led):
    led.append(20, size=1_000)
    rig = make_rig(leader, **SLOW)
    replica = rig.follow(configs={REPLICAS_KEY: "0:0"})
    rig.turn_until(lambda: rig.state is FollowerState.WAITING)
    rig.settle()
    first = replica.log.log_end_offset
    assert 0 < first < 20
    rig.pass_ms(THROTTLE_PAUSE_MS_MAX)  # the rate is read again: what it took is not paid yet
    rig.settle()
    assert replica.log.log_end_offset == first
    for _ in range(40):
        rig.pass_ms(THROTTLE_PAUSE_MS_MAX)
        rig.settle(2)
    rig.follow_until(led)
    assert rig.state is FollowerState.FETCHING  # it is in sync: nothing holds it


def test_a_follower_that_is_not_named_is_not_held(make_rig, leader, led):
    led.append(20, size=1_000)
    rig = make_rig(leader, **SLOW)
    rig.follow(configs={REPLICAS_KEY: "0:1"})
    rig.follow_until(led)


def test_a_lifted_throttle_frees_within_a_pause(make_rig, leader, led):
    led.append(20, size=1_000)
    rig = make_rig(leader, **SLOW)
    rig.follow(configs={REPLICAS_KEY: "*"})
    rig.turn_until(lambda: rig.state is FollowerState.WAITING)
    rig.view = rig.view._replace(node_settings={RATE_KEY: "1000000000"})
    rig.fetchers.follow(rig.view)
    rig.pass_ms(THROTTLE_PAUSE_MS_MAX)
    rig.follow_until(led)
