"""What is known of followers, and what follows from it: the high watermark, who is late, the ISR as it should be."""

import random

import pytest

from headrace.shm.cluster_view import BrokerView
from headrace.workers.partition.replication.followers import Followers
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from tests.support.counted import Counter, counted_numbers

LEADER, SECOND, THIRD = 1, 2, 3
REPLICAS = (LEADER, SECOND, THIRD)
LAG_MS = 100
EPOCHS = dict.fromkeys(REPLICAS, 50)


def brokers(epochs):
    return {one: BrokerView(one, "127.0.0.1", 9092, None, epoch) for one, epoch in epochs.items()}


class Leader:
    """A leader's log that grows, the followers that fetch from it, the clock."""

    def __init__(self, isr=REPLICAS, minimum=1, end=10, epoch_start=10, replicas=REPLICAS):
        self.live = LiveBrokers(LAG_MS, 1_000)
        self.live.follow(brokers(EPOCHS))
        self.end = end
        self.mark = 0
        self.followers = Followers(LEADER, replicas, isr, minimum, end, epoch_start, self.live)

    def fetch(self, broker_id, offset, broker_epoch=50, log_start=0):
        self.followers.note_fetch(self.followers.get(broker_id), offset, log_start, broker_epoch)
        return self.advance()

    def append(self, count=1):
        self.end += count
        return self.advance()

    def advance(self):
        self.mark = max(self.mark, self.followers.committed(self.end))
        return self.mark

    def wait(self, ms):
        self.live.now_ms += ms

    @property
    def isr(self):
        return self.followers.next_isr(self.mark)


def test_the_mark_is_the_smallest_offset_of_the_in_sync_replicas():
    leader = Leader()
    assert leader.advance() == 0, "nothing is known of followers of a new epoch"
    assert leader.fetch(SECOND, 10) == 0
    assert leader.fetch(THIRD, 7) == 7
    assert leader.append(5) == 7
    assert leader.fetch(THIRD, 12) == 10
    assert leader.fetch(SECOND, 15) == 12


def test_it_never_goes_back_and_does_not_wait_for_who_is_late_outside_the_isr():
    leader = Leader(isr=(LEADER, SECOND))
    leader.fetch(SECOND, 10)
    assert leader.mark == 10
    assert leader.fetch(THIRD, 3) == 10
    leader.append(5)
    assert leader.fetch(SECOND, 15) == 15
    assert leader.fetch(SECOND, 4) == 15, "a follower that lost its disk"


@pytest.mark.parametrize(("isr", "minimum", "mark"), [((LEADER,), 2, 0), ((LEADER,), 1, 12), ((LEADER, SECOND), 2, 12)])
def test_it_stands_while_the_isr_is_below_its_minimum(isr, minimum, mark):
    """KAFKA-15583."""
    leader = Leader(isr=isr, minimum=minimum)
    leader.append(2)
    assert leader.fetch(SECOND, 12) == mark


def test_it_waits_for_both_isrs_while_a_change_is_under_way():
    """KAFKA-8836, KIP-497."""
    leader = Leader(isr=(LEADER, SECOND))
    leader.fetch(SECOND, 10)
    leader.followers.set_pending((LEADER, THIRD))  # it joins, and SECOND goes
    leader.append(5)
    leader.fetch(SECOND, 15)
    assert leader.mark == 10
    assert leader.fetch(THIRD, 14) == 14
    leader.append(5)
    leader.fetch(THIRD, 20)
    assert leader.mark == 15, "SECOND is in it still"
    leader.followers.follow(REPLICAS, (LEADER, THIRD), 1)
    leader.followers.set_pending(())
    leader.wait(LAG_MS + 1)
    assert leader.advance() == 20


def test_it_waits_for_a_follower_that_is_about_to_join_but_not_for_ever():
    leader = Leader(isr=(LEADER,))
    leader.advance()
    assert leader.mark == 10
    leader.fetch(THIRD, 10)  # it has caught up
    leader.append(5)
    assert leader.advance() == 10
    leader.wait(LAG_MS)
    assert leader.advance() == 10
    leader.wait(1)
    assert leader.advance() == 15


def test_it_waits_for_nobody_who_is_not_alive_or_has_started_again_since():
    for epochs in ({LEADER: 50}, {LEADER: 50, THIRD: 51}):
        leader = Leader(isr=(LEADER,))
        leader.fetch(THIRD, 10, broker_epoch=50)
        leader.live.follow(brokers(epochs))
        assert leader.append(5) == 15, epochs


# Who is late


def test_the_time_of_a_follower_begins_with_the_append_that_passes_it():
    leader = Leader()
    for follower in (SECOND, THIRD):
        leader.fetch(follower, 10)
    leader.wait(100 * LAG_MS)  # nothing is written, nobody fetches from elsewhere
    assert leader.isr == REPLICAS
    leader.append()
    assert leader.isr == REPLICAS
    leader.wait(LAG_MS)
    assert leader.isr == REPLICAS
    leader.wait(1)
    assert leader.isr == (LEADER,)


def test_who_reaches_what_was_the_end_at_its_last_fetch_was_there_then():
    leader = Leader()
    leader.fetch(SECOND, 10)
    leader.fetch(THIRD, 10)
    for _ in range(20):  # THIRD is always some records short of the end, SECOND does not get on
        leader.append(5)
        leader.wait(LAG_MS // 2)
        leader.append(5)
        leader.fetch(THIRD, leader.end - 5)
    assert leader.isr == (LEADER, THIRD)


def test_who_gets_on_but_never_reaches_what_was_the_end_is_late():
    leader = Leader(isr=(LEADER, SECOND), replicas=(LEADER, SECOND))
    leader.fetch(SECOND, 10)
    for number in range(20):
        leader.append(100)
        leader.wait(LAG_MS // 10)
        leader.fetch(SECOND, 11 + number)
    assert leader.isr == (LEADER,)


def test_who_never_fetches_in_a_new_epoch_is_late_after_that_time():
    leader = Leader()
    leader.wait(LAG_MS)
    assert leader.isr == REPLICAS
    leader.fetch(SECOND, 10)
    leader.wait(1)
    assert leader.isr == (LEADER, SECOND)


# Who joins


@pytest.mark.parametrize(("offset", "joins"), [(19, False), (20, True), (25, True)])
def test_who_joins_has_all_that_is_committed_and_what_was_the_end_at_its_last_fetch(offset, joins):
    leader = Leader(isr=(LEADER, SECOND), end=offset, epoch_start=5)
    leader.fetch(SECOND, 20)
    assert leader.mark == min(20, offset)
    leader.fetch(THIRD, 7)
    assert leader.isr == (LEADER, SECOND)
    leader.append(30 - offset)
    leader.fetch(SECOND, 20)
    leader.fetch(THIRD, offset)
    assert leader.isr == (REPLICAS if joins else (LEADER, SECOND))


def test_who_is_late_where_the_mark_stands_does_not_join_until_it_fetches_what_came_since():
    """Else it would join and leave as fast as ZooKeeper writes: seen with two followers cut off, some fifty times a second."""
    leader = Leader(minimum=2)
    for one in (SECOND, THIRD):
        leader.fetch(one, 10)
    leader.append(9)
    leader.wait(LAG_MS + 1)
    assert leader.isr == (LEADER,)
    leader.followers.follow(REPLICAS, (LEADER,), 2)
    assert leader.advance() == 10, "the mark stands, and both have what is committed"
    assert leader.isr == (LEADER,)
    leader.fetch(SECOND, 19)
    assert leader.isr == (LEADER, SECOND)


@pytest.mark.parametrize(("offset", "joins"), [(9, False), (10, True)])
def test_who_joins_has_reached_the_start_of_this_epoch_wherever_the_mark_stands(offset, joins):
    """KAFKA-7128: the mark may lag behind what the epoch before has committed."""
    leader = Leader(isr=(LEADER, SECOND))
    assert leader.mark == 0
    leader.fetch(THIRD, offset)
    assert leader.isr == (REPLICAS if joins else (LEADER, SECOND))


@pytest.mark.parametrize(
    ("epochs", "told", "joins"),
    [
        ({THIRD: 50}, 50, True), ({THIRD: -1}, 50, True), ({THIRD: -1}, -1, True),
        ({THIRD: 51}, 50, False), ({THIRD: 50}, -1, False), ({}, 50, False), ({}, -1, False),
    ],
)  # fmt: skip
def test_who_joins_is_alive_and_fetched_in_its_present_life(epochs, told, joins):
    """KAFKA-14617, KIP-903."""
    leader = Leader(isr=(LEADER, SECOND))
    leader.live.follow(brokers({LEADER: 50, SECOND: 50, **epochs}))
    leader.fetch(THIRD, 10, told)
    assert leader.isr == (REPLICAS if joins else (LEADER, SECOND))


def test_who_is_in_the_isr_but_assigned_no_more_goes_at_once():
    """KAFKA-9672."""
    leader = Leader(replicas=(LEADER, SECOND))
    for follower in (SECOND, THIRD):
        leader.fetch(follower, 10)
    assert leader.isr == (LEADER, SECOND)


def test_what_is_known_of_followers_stays_with_another_isr_of_the_same_epoch():
    leader = Leader(isr=(LEADER, SECOND))
    leader.fetch(SECOND, 10)
    leader.fetch(THIRD, 8)
    leader.followers.follow(REPLICAS, REPLICAS, 1)
    assert [leader.followers.get(one).offset for one in (SECOND, THIRD)] == [10, 8]


# Time alone


def test_time_changes_nothing_where_all_that_count_are_at_the_logs_end():
    leader = Leader(isr=(LEADER, SECOND))
    leader.fetch(SECOND, 10)
    assert not leader.followers.are_awaited, "THIRD has been away for long"
    leader.append()
    assert leader.followers.are_awaited


def test_the_log_start_that_all_have_is_of_those_that_live():
    leader = Leader()
    leader.fetch(SECOND, 10, log_start=4)
    assert leader.followers.lowest_log_start(7) == -1
    leader.fetch(THIRD, 10, log_start=6)
    assert leader.followers.lowest_log_start(7) == 4
    leader.live.follow(brokers({LEADER: 50, THIRD: 50}))
    assert leader.followers.lowest_log_start(7) == 6
    assert leader.followers.lowest_log_start(5) == 5


@pytest.mark.parametrize("seed", range(50))
def test_what_is_committed_is_on_every_member_of_every_isr_that_may_be_true(seed):
    """The one promise, over random lives: the mark is never above what a member of the ISR, or of one asked for, has."""
    rng = random.Random(seed)
    leader = Leader(isr=REPLICAS)
    pending = ()
    for _ in range(300):
        what = rng.randrange(6)
        if what == 0:
            leader.append(rng.randrange(1, 5))
        elif what < 3:
            follower = rng.choice((SECOND, THIRD))
            known = leader.followers.get(follower).offset
            leader.fetch(follower, rng.randrange(max(known, 0), leader.end + 1))
        elif what == 3:
            leader.wait(rng.randrange(LAG_MS))
        elif what == 4 and not pending and leader.isr != leader.followers.isr:
            pending = leader.isr
            leader.followers.set_pending(pending)
        elif pending:
            if rng.random() < 0.5:
                leader.followers.follow(REPLICAS, pending, 1)
            leader.followers.set_pending(())
            pending = ()
        before = leader.mark
        moved = leader.advance() > before
        if moved:
            members = {*leader.followers.isr, *pending} - {LEADER}
            assert all(leader.followers.get(one).offset >= leader.mark for one in members), seed


def test_an_isr_of_very_many_members_is_looked_up_by_sets():
    """A request of 40,000 members held the worker for 36 s."""
    compared = Counter()
    count = 400
    members = tuple(counted_numbers(range(2, 2 + count), compared))
    leader = Leader(isr=(LEADER, *members), replicas=(LEADER, *members))
    compared.count = 0
    leader.followers.follow((LEADER, *members), (LEADER, *members), 1)
    assert leader.isr
    assert compared.count < 30 * count
