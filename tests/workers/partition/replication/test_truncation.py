"""Logs that part, re-enacted over real logs: KIP-101, KIP-279 and what Kafka's history adds to them.

Each scenario runs by the fetch that tells of divergence (IBP 2.7 and later), and by OffsetForLeaderEpoch before the first fetch.
"""

import dataclasses
import errno
import random

import pytest

from headrace.leader_eras import ERA
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, Record
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import all_bytes, batch
from tests.workers.partition.replication.log_leader import LedLog, LogLeader

IBPS = ["2.6", "2.8", "3.9"]
_EpochEnd = messages.FetchResponse.EpochEndOffset


@pytest.fixture(params=IBPS)
def ibp(request):
    return request.param


class Stage:
    """The follower, and the logs of other brokers, which begin as its own."""

    def __init__(self, make_rig, path, ibp):
        self._path = path
        self._leaders = []
        self._make_rig = make_rig
        self.rig = make_rig(**{"inter.broker.protocol.version": ibp})
        self.epoch = 0

    def broker(self, **how):
        """One more broker; its number is its place from 1 on."""
        directory = self._path / f"broker{len(self._leaders) + 1}"
        directory.mkdir()
        led = LedLog(directory, **how)
        leader = LogLeader(led)
        self._leaders.append(leader)
        self.rig.meet(leader)
        return led, leader

    def follow(self, number, epoch, led):
        """The follower follows a broker until it has its log."""
        led.lead(epoch)
        self.rig.follow(leader=number, epoch=epoch)
        self.rig.follow_until(led)

    def give(self, *runs):
        """The follower has been a leader itself, or had others: (epoch, records) one after the other."""
        self.rig.follow(leader=0, epoch=runs[0][0])
        for epoch, count in runs:
            write(self.rig.log, epoch, count)
        self.rig.replica.publish()

    def close(self):
        for leader in self._leaders:
            leader.close()


def write(log, epoch, count=1, size=100):
    for _ in range(count):
        ((error, _base, _time),) = log.append_as_leader([batch(size=size)], epoch, NOW_MS)
        assert not error


def copy(led, log):
    """A broker's log is what another one is so far."""
    records = all_bytes(log)
    if records:
        led.log.append_as_follower(memoryview(bytearray(records)), NOW_MS)
    return led


@pytest.fixture
def stage(make_rig, tmp_path, ibp):
    stage = Stage(make_rig, tmp_path, ibp)
    yield stage
    stage.close()


def test_kip_101_scenario_1_a_committed_record_above_the_own_high_watermark_is_kept(stage):
    """A has what B leads; A's high watermark is behind; A restarts, and B is gone: A leads and has lost nothing (KAFKA-1211)."""
    rig = stage.rig
    led, leader = stage.broker()
    led.high_watermark = 1  # A is told less than is committed
    led.append(2)
    stage.follow(1, 1, led)
    assert (rig.replica.high_watermark, rig.log.log_end_offset) == (1, 2)
    led.lead(2)
    rig.follow(leader=1, epoch=2)  # as after a restart: nothing is cut to the high watermark
    rig.settle()
    assert rig.log.log_end_offset == 2
    leader.node.hang_up()
    replica = rig.follow(leader=0, epoch=3)
    assert replica.is_leader
    assert replica.log.log_end_offset == 2
    assert rig.cut == []


def test_kip_101_scenario_2_what_was_never_replicated_is_cut_though_its_offset_is_taken_by_another(stage):
    """A led and has m2 alone; B came up first, and wrote m3 at m2's offset."""
    rig = stage.rig
    stage.give((1, 1))
    led, _leader = stage.broker()
    copy(led, rig.log)
    write(rig.log, 1)  # m2
    rig.replica.publish()
    write(led.log, 2, size=333)  # m3
    led.high_watermark = 1
    stage.follow(1, 2, led)
    assert rig.log.epochs.entries == [(1, 0), (2, 1)]


def test_kip_279_fast_leader_changes_take_several_steps(stage):
    """The follower's epochs 2 and 4 are not the leader's, which has 1, 3 and 5 (KAFKA-6361)."""
    rig = stage.rig
    stage.give((1, 5))
    led, _leader = stage.broker()
    copy(led, rig.log)
    write(rig.log, 2, 3)
    rig.replica.publish()
    write(rig.log, 4, 4)
    rig.replica.publish()
    write(led.log, 3, 6, size=50)
    led.high_watermark = 5
    rig.replica.high_watermark = 5
    stage.follow(1, 5, led)
    assert rig.log.epochs.entries == [(1, 0), (3, 5)]
    led.append(2)
    rig.follow_until(led)
    assert [one.log for one in rig.cut] == [rig.log] * len(rig.cut)


@pytest.mark.parametrize("seed", range(12))
def test_histories_at_random_end_the_same_byte_by_byte(make_rig, tmp_path, ibp, seed):
    """Three brokers that lead in turns, each from what it has; then the follower follows the last one."""
    chance = random.Random(seed)
    stage = Stage(make_rig, tmp_path, ibp)
    rig = stage.rig
    brokers = [stage.broker()[0] for _ in range(2)]
    rig.follow(leader=0, epoch=0)
    logs = [rig.log, *(led.log for led in brokers)]
    epoch = 0
    for _ in range(6):
        epoch += 1
        number = chance.randrange(3)
        log = logs[number]
        if log is rig.log:
            rig.follow(leader=0, epoch=epoch)
        else:
            log.assign_leader_epoch(epoch)
        write(log, epoch, chance.randrange(5), size=chance.randrange(20, 400))
        for other in logs:  # some of it is replicated, by the book: the others are cut where they part
            if other is not log and chance.random() < 0.6:
                _bring(other, log, chance)
    rig.replica.high_watermark = 0
    rig.replica.publish()
    number = chance.randrange(2)
    try:
        stage.follow(number + 1, epoch + 1, brokers[number])
        brokers[number].append(1)
        rig.follow_until(brokers[number], f"seed {seed}")
    finally:
        stage.close()


def _bring(log, source, chance):
    """A log follows another one for a while."""
    same = 0
    own, theirs = _batches(log), _batches(source)
    while same < min(len(own), len(theirs)) and own[same] == theirs[same]:
        same += 1
    if len(own) > same:
        log.truncate_to(same)
    more = theirs[same : same + chance.randrange(4)]
    if more:
        log.append_as_follower(memoryview(bytearray(b"".join(more))), NOW_MS)


def _batches(log):
    """Each with its leader epoch: one record each, so the index is the offset."""
    data, found = all_bytes(log), []
    while data:
        size = 12 + int.from_bytes(data[8:12], "big")
        found.append(data[:size])
        data = data[size:]
    return found


def test_an_epoch_in_which_nothing_was_written_is_forgotten_where_the_leader_never_had_it(stage):
    """It led for a moment (KAFKA-7415 notes the epoch), and would ask about that epoch for ever."""
    rig = stage.rig
    stage.give((1, 3))
    led, leader = stage.broker()
    copy(led, rig.log)
    rig.follow(leader=0, epoch=2)
    assert rig.log.epochs.entries == [(1, 0), (2, 3)]
    stage.follow(1, 3, led)
    rig.settle()
    assert rig.log.epochs.entries == [(1, 0)]
    led.append(2)
    rig.follow_until(led)
    assert rig.log.epochs.entries == [(1, 0), (3, 3)]
    assert len(leader.asked) < 12


def test_a_leader_that_knows_no_such_epoch_leaves_what_is_committed(stage):
    """It is not known what it has of ours; the high watermark is."""
    rig = stage.rig
    stage.give((4, 10))
    rig.replica.high_watermark = 6
    rig.replica.publish()
    led, _leader = stage.broker()
    led.log.append_as_follower(memoryview(bytearray(b"".join(_batches(rig.log)[:6]))), NOW_MS)
    led.log.epochs.replace([])
    rig.follow(leader=1, epoch=5)
    led.epoch = 5
    if stage.rig.fetchers._options.versions.truncates_on_fetch:
        rig.turn_until(lambda: rig.log.log_end_offset == 6)  # by OFFSET_OUT_OF_RANGE and the leader's end
    else:
        rig.turn_until(lambda: rig.log.log_end_offset == 6)
    write(led.log, 5, 2)
    rig.turn_until(lambda: rig.log.log_end_offset == 8)


def test_a_log_of_an_old_format_is_cut_to_its_high_watermark(stage, tmp_path):
    rig = stage.rig
    led, _leader = stage.broker()
    for offset in range(5):
        led.log.append_as_follower(_old_entry(offset), NOW_MS)
    rig.follow(leader=0, epoch=0)
    rig.log.epochs.replace([])
    for offset in range(4):
        rig.log.append_as_follower(_old_entry(offset), NOW_MS)
    rig.log.append_as_follower(_old_entry(4, b"another"), NOW_MS)
    rig.replica.high_watermark = 4
    rig.replica.publish()
    led.epoch = 1
    rig.follow(leader=1, epoch=1)
    rig.turn_until(lambda: rig.log.log_end_offset == 5 and all_bytes(rig.log) == all_bytes(led.log))
    assert rig.log.epochs.entries == []
    assert rig.cut


def _old_entry(offset, value=b"value"):
    return memoryview(bytearray(build_message_set([Record(offset, NOW_MS, b"k", value, ())], 1)))


def test_batches_of_an_old_format_after_newer_ones_make_the_epochs_unknown(stage):
    """A topic whose message.format.version was set back: by its epochs a leader would be told less than there is."""
    rig = stage.rig
    led, _leader = stage.broker()
    led.append(3)
    stage.follow(1, 0, led)
    assert rig.log.epochs.entries == [(0, 0)]
    led.log.append_as_follower(_old_entry(3), NOW_MS)
    rig.turn_until(lambda: rig.log.log_end_offset == 4)
    assert all_bytes(rig.log) == all_bytes(led.log)
    assert rig.log.epochs.entries == []


# What the answer of a fetch may do, IBP 2.7 and later


@pytest.fixture
def parted(make_rig, tmp_path):
    """Follower and leader part at 5; the follower has 8, all of them committed as far as it knows up to 5."""
    stage = Stage(make_rig, tmp_path, "3.9")
    stage.give((1, 5))
    led, leader = stage.broker()
    copy(led, stage.rig.log)
    write(stage.rig.log, 1, 3)
    stage.rig.replica.high_watermark = 5
    stage.rig.replica.publish()
    write(led.log, 2, 6, size=77)
    led.lead(3)
    yield stage, led, leader
    stage.close()


def test_the_log_is_cut_before_the_high_watermark_rises_and_the_rest_of_such_an_answer_is_not_used(parted):
    """KAFKA-14704"""
    stage, led, leader = parted
    rig = stage.rig
    foreign = led.read(8, 10_000)
    seen = []

    def alter(key, answer):
        if key == ApiKey.FETCH and answer.responses and answer.responses[0].partitions[0].diverging_epoch.epoch >= 0:
            seen.append(answer)
            topic = answer.responses[0]
            data = topic.partitions[0]._replace(records=foreign, high_watermark=8, log_start_offset=7)
            return answer._replace(responses=[topic._replace(partitions=[data])])
        return answer

    leader.alter = alter
    rig.follow(leader=1, epoch=3)
    marks = []
    rig.turn_until(
        lambda: marks.append((rig.log.log_end_offset, rig.replica.high_watermark, rig.log.log_start_offset)) or rig.cut
    )
    assert seen
    assert marks[-1] == (5, 5, 0)
    rig.follow_until(led)


def test_an_answer_without_records_sets_no_last_fetched_epoch(parted):
    """KAFKA-15510"""
    stage, led, leader = parted
    rig = stage.rig
    stage.follow(1, 3, led)
    rig.settle()
    led.high_watermark = 7
    rig.settle()
    led.append(1)
    rig.follow_until(led)
    rig.settle()
    rows = [row for one in leader.fetches for topic in one.topics for row in topic.partitions]
    assert [row.last_fetched_epoch for row in rows if row.fetch_offset == 11] == [2]
    assert rows[-1].last_fetched_epoch == 3


def test_a_divergence_told_for_an_older_epoch_cuts_nothing(parted):
    stage, _led, leader = parted
    rig = stage.rig
    rig.follow(leader=1, epoch=3)
    rig.turn()
    rig.turn_until(lambda: leader.fetches)
    leader.pump()  # its answer is in flight
    rig.follow(leader=0, epoch=4)
    rig.settle()
    assert rig.log.log_end_offset == 8, "it leads now (KAFKA-13207)"
    assert not rig.cut


def test_a_leader_that_tells_of_divergence_where_there_is_none_makes_no_busy_loop(parted):
    stage, led, leader = parted
    rig = stage.rig
    stage.follow(1, 3, led)
    rig.settle()

    def alter(key, answer):
        if key == ApiKey.FETCH and answer.responses:
            topic = answer.responses[0]
            data = topic.partitions[0]._replace(diverging_epoch=_EpochEnd(epoch=2, end_offset=11), records=b"")
            return answer._replace(responses=[topic._replace(partitions=[data])])
        return answer

    leader.alter = alter
    led.append(1)
    rig.turn_until(lambda: rig.state is FollowerState.WAITING)
    assert rig.log.log_end_offset == 11
    leader.alter = lambda _key, answer: answer
    rig.pass_ms(1_000)
    rig.follow_until(led)


def test_an_epoch_question_that_is_refused_waits_and_is_asked_again(make_rig, tmp_path):
    stage = Stage(make_rig, tmp_path, "2.6")
    rig = stage.rig
    stage.give((1, 5))
    led, leader = stage.broker()
    copy(led, rig.log)
    write(rig.log, 1, 3)
    rig.replica.publish()
    rig.replica.high_watermark = 5
    led.lead(2)
    write(led.log, 2, 4)
    led.leads = False
    rig.follow(leader=1, epoch=2)
    rig.turn_until(lambda: rig.state is FollowerState.WAITING_TO_CUT)
    assert not leader.fetches
    led.leads = True
    rig.pass_ms(1_000)
    rig.follow_until(led)
    # and one that the leader has overtaken stops, uncut
    led.lead(4)
    rig.follow(leader=1, epoch=3)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    stage.close()


def test_an_epoch_question_without_an_answer_is_asked_again(make_rig, tmp_path):
    stage = Stage(make_rig, tmp_path, "2.6")
    rig = stage.rig
    stage.give((1, 5))
    led, leader = stage.broker()
    copy(led, rig.log)
    led.lead(2)
    kind = messages.OffsetForLeaderEpochResponse

    def empty(key, answer):
        leader.alter = lambda _key, one: one
        return kind(topics=[]) if key == ApiKey.OFFSET_FOR_LEADER_EPOCH else answer

    leader.alter = empty
    rig.follow(leader=1, epoch=2)
    rig.turn_until(lambda: rig.state is FollowerState.WAITING_TO_CUT)
    rig.pass_ms(1_000)
    led.append(1)
    rig.follow_until(led)
    stage.close()


# What a cut takes with it


def test_a_cut_below_the_high_watermark_is_said_with_partition_and_offsets(parted, caplog):
    stage, led, _leader = parted
    rig = stage.rig
    rig.replica.high_watermark = 8
    rig.replica.publish()
    stage.follow(1, ERA, led)
    (line,) = [one.message for one in caplog.records if one.levelname == "ERROR"]
    assert line.startswith("acknowledged records may be lost partition=t-0 first_offset=5 reason=")
    assert "last_offset=7 high_watermark=8" in line
    assert f"leader=1 leader_epoch={ERA}" in line


@pytest.mark.parametrize("how", ["allowed", "compacted"])
def test_within_an_era_committed_records_are_truncated_only_where_that_proves_nothing(parted, caplog, how):
    """A leader of before may have been elected out of the ISR; a compacted log may lack an epoch that the other one has."""
    stage, led, _leader = parted
    rig = stage.rig
    rig.replica.high_watermark = 8
    rig.replica.publish()
    rig.replica.may_be_unclean = how == "allowed"
    rig.log.config = dataclasses.replace(rig.log.config, is_compacted=how == "compacted")
    stage.follow(1, 3, led)
    assert "acknowledged records may be lost partition=t-0 first_offset=5" in caplog.text
    assert not rig.node.replicas.moved.take_ahead()


def test_else_they_are_kept_and_the_controller_is_asked(parted, caplog):
    """As after a restored ZooKeeper, where the ISR had shrunk within one epoch: no log knows a later one than its state."""
    stage, led, _leader = parted
    rig = stage.rig
    rig.replica.high_watermark = 8
    rig.replica.publish()
    before = all_bytes(rig.log)
    led.lead(3)
    rig.follow(leader=1, epoch=3)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    [ahead] = [one.ahead for one in rig.node.replicas.moved.take_ahead()]
    assert (ahead.parted_at, ahead.leader, ahead.leader_epoch) == (5, 1, 3)
    assert "log has diverged from the leader's and is not truncated" in caplog.text


def test_one_above_it_is_no_error(parted, caplog):
    stage, led, _leader = parted
    stage.follow(1, 3, led)
    assert "ERROR" not in {one.levelname for one in caplog.records}


def test_readers_are_told_of_a_lower_high_watermark_before_the_bytes_go(parted):
    stage, led, _leader = parted
    rig = stage.rig
    rig.replica.high_watermark = 8
    rig.replica.publish()
    rows = []
    rename = rig.node.disk.rename

    def cut(source, target):
        if target.suffix == ".log":
            rows.append(rig.node.row(0))
        rename(source, target)

    rig.node.disk.rename = cut
    stage.follow(1, ERA, led)
    assert [row.high_watermark for row in rows] == [5]
    assert rows[0].hw_position < rows[0].end_position


def test_producers_and_transactions_are_as_in_the_leaders_log(make_rig, tmp_path):
    stage = Stage(make_rig, tmp_path, "3.9")
    rig = stage.rig
    led, _leader = stage.broker()
    for sequence in range(3):
        led.append(1, producer_id=7, producer_epoch=0, base_sequence=sequence, attributes=TRANSACTIONAL_BIT)
    stage.follow(1, 1, led)
    assert rig.node.row(0).last_stable_offset == 0
    led.log.append_marker(7, 0, 0, True, 1, NOW_MS)
    rig.follow_until(led)
    rig.turn_until(lambda: rig.node.row(0).last_stable_offset == 4)
    index = b"".join(path.read_bytes() for path in rig.log.directory.glob("*.txnindex"))
    assert index == b"".join(path.read_bytes() for path in led.log.directory.glob("*.txnindex")) != b""
    replica = rig.follow(leader=0, epoch=9)
    results = replica.append(
        [batch(producer_id=7, producer_epoch=0, base_sequence=3, attributes=TRANSACTIONAL_BIT)], NOW_MS
    )
    assert [error for error, _offset, _time in results] == [0], "the next sequence is known here"
    stage.close()


def test_compaction_that_began_before_a_cut_is_not_swapped_in(parted):
    stage, led, _leader = parted
    rig = stage.rig
    before = rig.log.segments_version
    stage.follow(1, 3, led)
    assert not rig.log.swap_segments([(0, rig.log.size_bytes)], before)


def test_a_disk_that_refuses_the_cut_takes_the_replica_out(parted):
    stage, _led, _leader = parted
    rig = stage.rig
    rig.node.disk.fails["truncate"] = errno.EIO
    rig.follow(leader=1, epoch=3)
    rig.turn_until(lambda: rig.node.row(0).state == RowState.OFFLINE)
    rig.settle()
    assert not rig.fetchers
