"""A partition's state: when it may change what was planned before, and where it writes to."""

from headrace.ids import TopicPartition
from headrace.mirror.identity import LaneName
from headrace.mirror.journal_record import KeyedPosition, Position
from headrace.mirror.keyed_lane import KeyedLane
from headrace.mirror.keyed_recovery import recover_keyed
from headrace.mirror.lane import Lane
from headrace.mirror.partition_copy import WHOLE_TOPIC, CopyState, PartitionCopy
from headrace.mirror.recovery import recover

NAME = LaneName("m", "source", "clicks", 3)
LEASE_MS = 10_000


def by_key(count):
    copy = PartitionCopy(NAME, TopicPartition("clicks", WHOLE_TOPIC))
    start = KeyedPosition(1, 0, 0, 0, -1, ordinals=(0,) * count, targets=(0,) * count)
    copy.open(KeyedLane(NAME, recover_keyed(start, [], [()] * count, 1), 1_000, True))
    return copy


def test_it_is_alone_once_twice_the_lease_has_passed_since_its_claim():
    copy = PartitionCopy(NAME, TopicPartition("clicks", 3), claimed_s=100.0)
    assert not copy.is_alone_at(120.0, LEASE_MS)
    assert copy.alone_from_s(LEASE_MS) == 120.0
    assert copy.is_alone_at(120.1, LEASE_MS)
    assert copy.is_alone_at(0.0, LEASE_MS)


def test_a_request_of_its_own_without_an_answer_may_arrive_as_long_as_one_of_an_earlier_life():
    copy = PartitionCopy(NAME, TopicPartition("clicks", 3), is_alone=True)
    copy.left_unanswered(200.0)
    assert not copy.is_alone_at(219.0, LEASE_MS)
    assert copy.is_alone_at(221.0, LEASE_MS)


def test_it_writes_to_one_partition_or_by_key_to_all():
    copy = PartitionCopy(NAME, TopicPartition("clicks", 3))
    copy.open(Lane(NAME, copy.target, recover(Position(1, 0, 0, 0, 0), [], [], 1)))
    assert [outlet.target for outlet in copy.outlets] == [copy.target]
    assert not copy.is_by_key
    copy = by_key(2)
    assert copy.is_by_key
    assert [outlet.target.partition for outlet in copy.outlets] == [0, 1]
    copy.grow(3)
    assert [outlet.target.partition for outlet in copy.outlets] == [0, 1, 2]
    assert [outlet.lane for outlet in copy.outlets] == copy.lane.parts


def test_what_is_in_flight_is_known_after_the_lane_is_dropped():
    copy = by_key(2)
    copy.outlets[1].in_flight = 1
    copy.outlets[1].is_broken = True
    copy.wait_until(50.0, "the source was compacted")
    assert (copy.state, copy.due_s, copy.failures, copy.in_flight) == (CopyState.WAITING, 50.0, 0, 1)
    assert [(outlet.lane, outlet.is_broken) for outlet in copy.outlets] == [(None, False)] * 2
    copy.try_again(60.0, "again")
    assert copy.failures == 1
