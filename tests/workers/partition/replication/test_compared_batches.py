"""A follower's last batch against its leader's: what differs is cut, or kept and reported; what was not compared never counts as equal.

The faults of the seventh review: a leader whose log begins after the batch that is compared; an epoch given twice, in which we wrote
nothing.
"""

import pytest

from headrace.ids import NO_LEADER, NO_LOG_START
from headrace.leader_eras import ERA, era_of
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import LOG_OVERHEAD_BYTES
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import all_bytes, batch
from tests.workers.partition.replication.test_truncation import Stage, copy, write

TURN_MS = 50


@pytest.fixture(params=["2.6", "3.9"])
def ibp(request):
    return request.param


@pytest.fixture
def stage(make_rig, tmp_path, ibp):
    stage = Stage(make_rig, tmp_path, ibp)
    yield stage
    stage.close()


def until(rig, is_so):
    """Back-offs pass meanwhile."""
    rig.turn_until(lambda: (rig.pass_ms(TURN_MS), is_so())[1])


def until_failed(rig):
    until(rig, lambda: rig.state is FollowerState.FAILED)


def reported(rig):
    """Where the controller was notified that the logs part, and under which leader epoch."""
    return [(one.ahead.parted_at, one.ahead.leader_epoch) for one in rig.node.replicas.moved.take_ahead()]


def put(log, epoch, count, size=100):
    """One batch."""
    ((error, _base, _time),) = log.append_as_leader([batch(count=count, size=size)], epoch, NOW_MS)
    assert not error


def fetched(leader):
    return [part for fetch in leader.fetches for topic in fetch.topics for part in topic.partitions]


@pytest.mark.parametrize("count", [1, 10], ids=["one record a batch", "ten records a batch"])
def test_a_refused_cut_near_the_leaders_log_start_is_reported(stage, count):
    """The batch before it was deleted there: nothing shows that it was the same one."""
    rig = stage.rig
    first, _leader = stage.broker()
    second, leader = stage.broker()
    first.lead(5).append(10)
    copy(second, first.log)
    for _ in range(10 // count):
        put(first.log, 5, count)
    stage.follow(1, 5, first)
    rig.settle()
    before = all_bytes(rig.log)
    second.lead(7).append(30, size=50)
    second.log.advance_log_start(12)
    second.lead(8)
    rig.follow(leader=2, epoch=8)
    until_failed(rig)
    assert reported(rig) == [(0, 8)], "where the epoch begins: the lowest parting that is possible"
    assert all_bytes(rig.log) == before
    assert len(leader.asked) < 10


@pytest.mark.parametrize("is_same", [True, False])
def test_a_log_that_waits_for_a_decision_is_not_cut_for_a_leader_that_knows_no_epochs(stage, is_same):
    """Its end is in the leader's log, its epochs are not. Once it was cut to its mark then, and fetched on without an epoch."""
    rig = stage.rig
    stage.give((4, 9))
    led, _leader = stage.broker()
    copy(led, rig.log)
    write(rig.log, 4)
    if is_same:
        led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), NOW_MS)
    led.append(3, epoch=4, size=50)
    led.log.epochs.replace([])
    rig.replica.high_watermark = 10
    rig.replica.publish()
    rig.replica.is_wary = True
    before = all_bytes(rig.log)
    led.epoch = 5
    rig.follow(leader=1, epoch=5)
    until(rig, lambda: rig.state is FollowerState.FAILED or rig.log.log_end_offset == led.log.log_end_offset)
    assert reported(rig) == ([] if is_same else [(0, 5)])
    assert all_bytes(rig.log)[: len(before)] == before
    assert rig.replica.is_wary is not is_same, "the batch itself has proven it"


@pytest.mark.parametrize("later", [0, 3], ids=["in that epoch", "in a later one"])
@pytest.mark.parametrize("is_restarted", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("lacks", [1, 5])
def test_the_logs_part_at_our_last_batch_where_its_epoch_is_later(stage, lacks, later, is_restarted):
    """We were elected in epoch 2 and wrote nothing; of a restored ZooKeeper another broker was elected in it, and wrote."""
    rig = stage.rig
    first, _leader = stage.broker()
    second, _other = stage.broker()
    first.lead(1).append(10 - lacks)
    copy(second, first.log)
    first.append(lacks)
    stage.follow(1, 1, first)
    rig.settle()
    rig.follow(leader=0, epoch=2)
    second.lead(2).append(20, size=60)
    if later:
        second.lead(2 + later).append(3)
    before = all_bytes(rig.log)
    if is_restarted:
        rig.killed()
    rig.follow(leader=2, epoch=2 + later)
    until_failed(rig)
    assert reported(rig) == [(10 - lacks, 2 + later)]
    assert all_bytes(rig.log) == before


def test_what_was_not_committed_goes_batch_by_batch_down_to_where_the_logs_part(stage):
    """The same, but our last records were never committed."""
    rig = stage.rig
    stage.give((1, 5))
    led, _leader = stage.broker()
    copy(led, rig.log)
    write(rig.log, 1, 5)
    rig.follow(leader=0, epoch=2)
    assert rig.log.epochs.latest == 2
    led.lead(2).append(20, size=60)
    led.lead(3)
    rig.follow(leader=1, epoch=3)
    rig.follow_until(led)
    assert not reported(rig)


def test_a_batch_is_kept_whole_where_a_part_of_it_is_committed(stage):
    """The logs part within a batch of ours. It would go from its beginning on, which lies below our mark."""
    rig = stage.rig
    stage.give((1, 2))
    led, _leader = stage.broker()
    copy(led, rig.log)
    put(rig.log, 1, 8)
    rig.replica.high_watermark = 4
    rig.replica.publish()
    put(led.log, 1, 2, size=50)
    led.lead(2).append(20)
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=2)
    until_failed(rig)
    assert all_bytes(rig.log) == before
    assert reported(rig) in ([(2, 2)], [(0, 2)]), "below our mark, whatever was compared first"


def test_a_batch_that_begins_before_our_end_is_in_the_place_of_our_last_one(stage):
    """Proven by nothing, it was logged and the partition left alone. Now it is cut as any other, and below the mark reported."""
    rig = stage.rig
    stage.give((1, 5))
    led, _leader = stage.broker()
    copy(led, rig.log)
    write(rig.log, 1, 1)
    put(led.log, 2, 8)
    led.lead(3)
    followed_proof = []

    def without_proof(key, answer):
        """As of a leader whose cleaner has taken the batch meanwhile: nothing is compared."""
        if (
            key == ApiKey.FETCH
            and rig.fetchers.by_slot
            and rig.fetchers.by_slot[0].proof is not None
            and not followed_proof
        ):
            rig.fetchers.by_slot[0].is_proven = True
            followed_proof.append(True)
        return answer

    _leader.alter = without_proof
    rig.follow(leader=1, epoch=3)
    rig.follow_until(led)
    assert not reported(rig)


@pytest.mark.parametrize("start", [13, 16])
def test_a_proof_is_asked_for_where_the_leaders_log_begins(stage, start):
    """Epoch 4 was given twice, and the leader's log begins within our last batch, which is another there."""
    rig = stage.rig
    stage.give((0, 10))
    led, leader = stage.broker()
    copy(led, rig.log)
    put(rig.log, 4, 8)
    rig.replica.publish()
    put(led.log, 4, 5, size=50)
    put(led.log, 4, 6, size=50)
    led.log.advance_log_start(start)
    led.lead(5)
    rig.follow(leader=1, epoch=5)
    until_failed(rig)
    assert [epoch for _at, epoch in reported(rig)] == [5]
    assert (start, -1) in [(part.fetch_offset, part.last_fetched_epoch) for part in fetched(leader)]


@pytest.mark.parametrize("start", [13, 18, 30])
def test_the_same_log_is_proven_there(stage, start):
    rig = stage.rig
    stage.give((0, 10))
    led, _leader = stage.broker()
    put(rig.log, 4, 8)
    copy(led, rig.log)
    led.lead(5).append(20)
    led.log.advance_log_start(start)
    rig.follow(leader=1, epoch=5)
    rig.turn_until(lambda: rig.log.log_end_offset == led.log.log_end_offset and rig.log.log_start_offset == start)
    assert not reported(rig)
    assert rig.replica.is_unproven == (start > 13), "of what was deleted nothing is left to compare"


def test_a_log_that_waits_for_a_decision_is_not_begun_again(stage):
    """The leader's log begins after ours ends. Whatever follows another history asks first."""
    rig = stage.rig
    stage.give((1, 10))
    led, _leader = stage.broker()
    led.lead(2).append(30)
    led.log.advance_log_start(20)
    rig.replica.is_wary = True
    rig.follow(leader=1, epoch=2)
    until_failed(rig)
    assert rig.log.log_end_offset == 10
    assert reported(rig) == [(0, 2)]
    rig.replica.ahead = None
    rig.follow(leader=NO_LEADER, epoch=2)  # it is held, until somebody accepts that the leader's history counts
    led.lead(ERA)
    rig.follow(leader=1, epoch=ERA)
    rig.turn_until(lambda: rig.log.log_end_offset == 30)
    assert rig.log.log_start_offset == 20


def test_resets_are_counted_from_the_last_append_on(stage):
    rig = stage.rig
    led, _leader = stage.broker()
    led.append(3)
    stage.follow(1, 0, led)
    followed = rig.fetchers.by_slot[0]
    followed.resets = 2
    led.append(1)
    rig.follow_until(led)
    assert followed.resets == 0


def test_a_proof_brings_one_batch_and_says_nothing_of_where_the_follower_is(stage):
    """What follows it is fetched from our end: it came twice. And a leader took the offset of a proof for what the follower has."""
    rig = stage.rig
    led, leader = stage.broker()
    led.append(4, size=1_000)
    stage.follow(1, 0, led)
    rig.settle()
    led.append(40, size=1_000)
    led.lead(1)
    leader.asked.clear()
    sizes = []

    def note(key, answer):
        if key == ApiKey.FETCH:
            sizes.extend(len(part.records or b"") for topic in answer.responses for part in topic.partitions)
        return answer

    leader.alter = note
    rig.follow(leader=1, epoch=1)
    rig.follow_until(led)
    size = LOG_OVERHEAD_BYTES + int.from_bytes(all_bytes(rig.log)[8:12], "big")
    rows = [(part.fetch_offset, part.partition_max_bytes, part.log_start_offset) for part in fetched(leader)]
    assert rows[0] == (3, size, NO_LOG_START)
    assert rows[1] == (4, 1 << 20, 0)
    assert sizes[0] == size


def test_a_leader_that_lost_our_last_record_says_again_where_it_ends(stage):
    """There was no room for the proof, and the leader has a record there. Its process restarts without it, in the same epoch."""
    rig = stage.rig
    stage.give((1, 10))
    led, leader = stage.broker()
    copy(led, rig.log)
    led.high_watermark = 5
    led.lead(2)

    def without_room(key, answer):
        if key != ApiKey.FETCH:
            return answer
        rows = [
            topic._replace(partitions=[part._replace(records=b"") for part in topic.partitions])
            for topic in answer.responses
        ]
        return answer._replace(responses=rows)

    leader.alter = without_room
    rig.follow(leader=1, epoch=2)
    until(rig, lambda: rig.fetchers.by_slot[0].has_record and rig.state is FollowerState.FETCHING)
    led.restart(lost_from=9)
    leader.forget_sessions()
    for session in leader.node.sessions:
        session.reset()
    leader.alter = lambda _key, answer: answer
    until(rig, lambda: rig.log.log_end_offset == 9)
    assert not reported(rig)


def test_a_leader_that_rewrote_its_tail_is_compared_again(stage):
    """Its machine was down for less than a session: it leads in the same epoch. Our end is in its log, and nothing else says so."""
    rig = stage.rig
    led, leader = stage.broker()
    led.lead(1).append(5)
    stage.follow(1, 1, led)
    rig.settle()
    led.restart(lost_from=3)
    led.append(4, size=50)
    leader.forget_sessions()
    for session in leader.node.sessions:
        session.reset()
    until_failed(rig)
    assert [epoch for _at, epoch in reported(rig)] == [1]
    assert rig.log.log_end_offset == 5


# Eras of which no record says that they began


@pytest.mark.parametrize("base", [1, ERA], ids=["the first era", "a later one"])
@pytest.mark.parametrize("is_restarted", [False, True], ids=["running", "restarted"])
def test_a_mark_counts_within_the_era_in_which_it_was_taken(stage, base, is_restarted):
    """Nothing was written since that era began. A leader of the same era lacks what is committed: a restored ISR."""
    rig = stage.rig
    first, _leader = stage.broker()
    second, _other = stage.broker()
    first.lead(1).append(10)
    copy(second, first.log)
    first.append(3)
    stage.follow(1, base + 1, first)
    rig.settle()
    assert rig.replica.high_watermark == 13
    before = all_bytes(rig.log)
    if is_restarted:
        rig.killed()
    second.lead(base + 2)
    rig.follow(leader=2, epoch=base + 2)
    until_failed(rig)
    assert reported(rig) == [(10, base + 2)]
    assert all_bytes(rig.log) == before


def test_a_leader_of_a_later_era_may_still_have_it_cut(stage, caplog):
    rig = stage.rig
    first, _leader = stage.broker()
    second, _other = stage.broker()
    first.lead(1).append(10)
    copy(second, first.log)
    first.append(3)
    stage.follow(1, ERA + 1, first)
    rig.settle()
    second.lead(2 * ERA).append(1)
    rig.follow(leader=2, epoch=2 * ERA)
    rig.follow_until(second)
    assert not reported(rig)
    assert "acknowledged records may be lost partition=t-0 first_offset=10" in caplog.text


def test_a_state_of_an_earlier_era_is_of_the_past_though_no_record_says_so(stage):
    """We led the era's first epoch and wrote nothing. What we had not fetched before comes from the next leader, and our entry goes."""
    rig = stage.rig
    led, _leader = stage.broker()
    led.lead(1).append(10)
    stage.follow(1, 1, led)
    led.append(3)
    rig.follow(leader=0, epoch=ERA)
    led.lead(ERA + 1)
    rig.follow(leader=1, epoch=ERA + 1)
    rig.follow_until(led)
    assert rig.log.epochs.entries == [(1, 0)]
    rig.killed()
    rig.follow(leader=NO_LEADER, epoch=3)
    [ahead] = [one.ahead for one in rig.node.replicas.moved.take_ahead()]
    assert (ahead.parted_at, ahead.epoch, era_of(ahead.latest_epoch)) == (13, 1, 1)
