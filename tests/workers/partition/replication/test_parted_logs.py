"""Logs that part within an epoch, as where a restored ZooKeeper gave it twice: nothing is cut before somebody has decided."""

import errno

import pytest

from headrace.ids import NO_LEADER
from headrace.protocol.apis import ApiKey
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.log_fixtures import all_bytes
from tests.workers.partition.replication.log_leader import LedLog, LogLeader
from tests.workers.partition.replication.test_truncation import copy, write

LOST = "acknowledged records may be lost partition=t-0 first_offset=5"


@pytest.fixture(params=["2.6", "3.9"])
def ibp(request):
    return request.param


class Stage:
    """A follower, which has 0..4 of epoch 0 and 5..9 of epoch 1; and broker 1, which has the first five."""

    def __init__(self, make_rig, path, ibp):
        (path / "led").mkdir()
        self.led = LedLog(path / "led")
        self.leader = LogLeader(self.led)
        self.rig = make_rig(self.leader, **{"inter.broker.protocol.version": ibp})
        self.rig.follow(leader=0, epoch=0)
        write(self.rig.log, 0, 5)
        copy(self.led, self.rig.log)
        self.rig.follow(leader=0, epoch=1)
        write(self.rig.log, 1, 5)
        self.rig.replica.publish()
        self.rig.replica.is_unproven = True  # as after it was opened

    def told(self):
        """What the controller is told, and answers."""
        told = [one.ahead[:-1] for one in self.rig.node.replicas.moved.take_ahead()]
        self.rig.replica.ahead = None
        return told


@pytest.fixture
def stage(make_rig, tmp_path, ibp):
    stage = Stage(make_rig, tmp_path, ibp)
    yield stage
    stage.leader.close()


def test_a_leader_that_is_longer_in_the_same_epoch_and_another_is_found_by_the_last_batch(stage, caplog):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=1)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [tuple(one) for one in stage.told()] == [(10, 1, 5, 1, 1)]
    assert "log has diverged from the leader's and is not truncated" in caplog.text
    rig.follow(leader=NO_LEADER, epoch=1)  # it is held
    led.lead(65_537)  # somebody has accepted that the leader's history counts
    rig.follow(leader=1, epoch=65_537)
    rig.follow_until(led)
    assert LOST in caplog.text
    assert not rig.replica.is_unproven


@pytest.mark.parametrize("later", [0, 1], ids=["in the same epoch", "in the next one"])
def test_a_log_that_stayed_open_is_proven_under_each_leader(stage, later):
    """It led epoch 1 itself, was cut off, and its process lives; a restored ZooKeeper gave epoch 1 to another one."""
    rig, led = stage.rig, stage.led
    rig.replica.is_unproven = False
    led.lead(1)
    led.append(20, size=120)
    if later:
        led.lead(2)
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=1 + later)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [tuple(one) for one in stage.told()] == [(10, 1, 5, 1, 1 + later)]


def test_a_log_is_proven_once_under_one_leader_and_again_under_the_next(stage):
    rig, led = stage.rig, stage.led
    led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), 0)
    for epoch in (2, 3):
        led.lead(epoch)
        led.append(1)
        rig.follow(leader=1, epoch=epoch)
        rig.follow_until(led)
        assert not rig.replica.is_unproven
        rig.follow(leader=1, epoch=epoch, configs={"retention.ms": "1000000"})  # the same role
        led.append(1)
        rig.follow_until(led)
    assert [offset for offset, _epoch in fetched(stage.leader) if offset in (9, 11)] == [9, 11, 11]
    assert not stage.told()


def test_a_leader_without_our_last_record_says_where_its_log_ends(stage):
    """It lacks the last batch of a deposed leader, and writes nothing: it would not answer a fetch there."""
    rig, led = stage.rig, stage.led
    led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), 0)
    led.log.truncate_to(9)
    led.lead(2)
    rig.follow(leader=1, epoch=2)
    rig.follow_until(led)
    assert rig.log.log_end_offset == 9
    rig.turn_until(lambda: not rig.replica.is_unproven)
    assert not stage.told()


def test_a_leader_that_is_shorter_in_the_same_epoch_has_nothing_cut(stage):
    rig, led = stage.rig, stage.led
    led.lead(1)
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=1)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [tuple(one) for one in stage.told()] == [(10, 1, 5, 1, 1)]


def test_a_leader_of_a_later_epoch_with_another_batch_has_nothing_cut(stage):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    led.lead(2)
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=2)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [tuple(one)[2:] for one in stage.told()] == [(5, 1, 2)]


def test_another_leader_is_not_taken_for_the_one_that_was_accepted(stage):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    rig.follow(leader=1, epoch=1)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    stage.told()
    rig.follow(leader=NO_LEADER, epoch=1)
    rig.place(2, stage.leader.node.port)
    before = all_bytes(rig.log)
    led.lead(2)
    rig.follow(leader=2, epoch=2)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [one[3] for one in stage.told()] == [2]


def test_the_same_log_is_proven_by_one_batch_and_followed(stage):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), 0)
    led.append(3)
    rig.follow(leader=1, epoch=1)
    rig.follow_until(led)
    assert not rig.replica.is_unproven
    assert not stage.told()


def test_what_the_leader_does_not_have_at_all_is_cut_as_ever(stage, caplog):
    """A later epoch decides: the last one of ours was never committed."""
    rig, led = stage.rig, stage.led
    led.lead(2)
    led.append(3)
    rig.follow(leader=1, epoch=2)
    rig.follow_until(led)
    assert not stage.told()


@pytest.mark.parametrize("count", [3, 20], ids=["shorter", "longer"])
@pytest.mark.parametrize("epoch", [2, 5])
def test_the_tail_of_a_deposed_leader_is_cut_whatever_is_there_now(stage, caplog, count, epoch):
    """Nobody fetched it. The leader after it has other records at these offsets, and goes on beyond them."""
    rig, led = stage.rig, stage.led
    led.lead(epoch)
    led.append(count)
    rig.follow(leader=1, epoch=epoch)
    rig.follow_until(led)
    assert all_bytes(rig.log) == all_bytes(led.log)
    assert not stage.told()
    assert not [one for one in caplog.records if one.levelname == "ERROR"]
    assert not rig.replica.is_unproven


def fetched(leader):
    """Offset and last epoch of what was fetched."""
    return [
        (part.fetch_offset, part.last_fetched_epoch)
        for fetch in leader.fetches
        for topic in fetch.topics
        for part in topic.partitions
    ]


def test_a_leader_is_never_asked_for_an_offset_as_if_the_log_before_it_were_the_same(stage, ibp):
    """It would take that for all that it has acknowledged: its end is the offset of our last batch."""
    rig, led = stage.rig, stage.led
    led.lead(2)
    led.append(4)
    rig.follow(leader=1, epoch=2)
    rig.follow_until(led)
    assert all_bytes(rig.log) == all_bytes(led.log)
    asked = fetched(stage.leader)
    first = [(9, 1), (4, 0), (5, 0)] if ibp != "2.6" else [(4, -1), (5, -1)]  # the epochs were asked for before
    assert asked[: len(first)] == first
    assert not stage.told()
    assert not rig.replica.is_unproven


def test_a_log_of_one_batch_has_no_epoch_before_it(make_rig, tmp_path):
    led = LedLog(tmp_path)
    leader = LogLeader(led)
    rig = make_rig(leader)
    rig.follow(leader=0, epoch=0)
    write(rig.log, 0, 1)
    copy(led, rig.log)
    rig.replica.publish()
    rig.replica.is_unproven = True
    led.lead(1)
    led.append(2)
    rig.follow(leader=1, epoch=1)
    rig.follow_until(led)
    assert fetched(leader)[0] == (0, -1)
    assert not rig.replica.is_unproven
    leader.close()


@pytest.mark.parametrize("is_same", [True, False])
def test_a_log_without_a_known_epoch_before_its_last_batch_is_compared(stage, is_same):
    """It counted as proven: a fetch without an epoch said where the follower is. One that compares a batch does not."""
    rig, led = stage.rig, stage.led
    if is_same:
        led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), 0)
    else:
        led.lead(1)
        led.append(20 - led.log.log_end_offset, size=333)
    rig.log.epochs.replace([(1, 9)])
    led.lead(2)
    led.append(1)
    rig.follow(leader=1, epoch=2)
    if is_same:
        rig.turn_until(lambda: rig.log.log_end_offset == led.log.log_end_offset)
        assert not stage.told()
    else:
        rig.turn_until(lambda: rig.state is FollowerState.FAILED)
        assert [one[4] for one in stage.told()] == [2]
    assert (9, -1) in fetched(stage.leader)


def test_records_of_an_epoch_before_that_a_later_leader_has_there_are_taken(stage):
    """It had not got what was committed in no epoch: its own of epoch 0 is at the offset of ours of epoch 1."""
    rig, led = stage.rig, stage.led
    led.append(20)
    led.lead(2)
    led.append(1)
    rig.follow(leader=1, epoch=2)
    rig.follow_until(led)
    assert all_bytes(rig.log) == all_bytes(led.log)
    assert not stage.told()


def test_an_epoch_given_twice_is_found_below_a_later_one_too(stage):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(2, size=120)
    led.lead(2)
    led.append(20)
    rig.follow(leader=1, epoch=2)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert [tuple(one)[2:] for one in stage.told()] == [(5, 1, 2)]


@pytest.mark.parametrize(("now", "written"), [(1, 0), (1, 3), (2, 3)])
def test_an_epoch_given_twice_is_found_below_an_earlier_one(stage, now, written):
    """The leader, of a restored state, had a tail 5..9 of epoch 0, and began epoch 1 again at 10."""
    rig, led = stage.rig, stage.led
    led.append(5, size=120)
    led.lead(1)
    led.append(written)
    if now > 1:
        led.lead(now)
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=now)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [tuple(one)[2:] for one in stage.told()] == [(5, 1, now)]
    assert all(offset < 10 for offset, _epoch in fetched(stage.leader)), "our end is no promise to another history"
    rig.follow(leader=NO_LEADER, epoch=now)  # it is held
    led.lead(65_537)  # somebody has accepted that the leader's history counts
    led.append(1)
    rig.follow(leader=1, epoch=65_537)
    rig.follow_until(led)
    assert not stage.told()


@pytest.mark.parametrize(("count", "mark"), [(5, None), (2, 5), (3, 5), (12, 5)])
def test_a_proof_for_which_an_answer_had_no_room_is_asked_for_again(stage, count, mark):
    """Also where the leader's mark lies below it, since it is alone: it says where its log ends, and is asked on."""
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    led.high_watermark = mark
    answers = []

    def without_room(key, answer):
        if key != ApiKey.FETCH or len(answers) >= count:
            return answer
        answers.append(answer)
        rows = [
            topic._replace(partitions=[part._replace(records=b"") for part in topic.partitions])
            for topic in answer.responses
        ]
        return answer._replace(responses=rows)

    stage.leader.alter = without_room
    rig.follow(leader=1, epoch=1)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert len(answers) == count
    assert len([1 for key, _version, _request in stage.leader.asked if key == ApiKey.LIST_OFFSETS]) == 2 * (
        mark is not None
    )
    assert [tuple(one) for one in stage.told()] == [(10, 1, 5, 1, 1)]


def test_a_leader_whose_log_begins_after_our_end_is_not_compared(stage):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    led.lead(2)
    led.log.advance_log_start(15)
    rig.follow(leader=1, epoch=2)
    rig.turn_until(lambda: rig.log.log_end_offset == led.log.log_end_offset)
    assert rig.log.log_start_offset == 15
    assert not stage.told()


def test_nobody_leads_nor_follows_below_its_logs_latest_epoch(stage):
    rig = stage.rig
    rig.follow(leader=NO_LEADER, epoch=1)
    for leader in (0, 1):
        rig.replica.is_wary = False
        rig.follow(leader=leader, epoch=0)
        assert (rig.replica.leader_id, rig.replica.leader_epoch) == (NO_LEADER, 1)
        assert [tuple(one) for one in stage.told()] == [(10, 1, 5, leader, 0)]
        rig.follow(leader=leader, epoch=0)  # told already
        assert not stage.told()
    rig.follow(leader=NO_LEADER, epoch=0)
    assert not rig.replica.is_leader


@pytest.mark.parametrize("leader", [0, 1])
def test_a_replica_that_is_held_takes_no_role_whoever_leads(stage, leader):
    """The view names the leader all the same: clients ask this node, too."""
    rig = stage.rig
    rig.follow(leader=leader, epoch=2, is_held=True)
    rig.settle()
    assert not rig.replica.is_leader
    assert rig.replica.leader_id == NO_LEADER
    assert not rig.fetchers.by_slot


def test_a_leader_of_the_past_goes_on_until_the_controller_has_answered_and_leads_nothing_then(stage):
    rig = stage.rig
    assert rig.replica.is_leader
    rig.follow(leader=NO_LEADER, epoch=0)
    assert rig.replica.is_leader
    assert len(stage.told()) == 1
    rig.node.replicas.take_role_again(rig.replica)
    assert not rig.replica.is_leader
    rig.follow(leader=0, epoch=65_537)
    assert rig.replica.is_leader
    assert not rig.replica.is_wary
    assert rig.log.epochs.latest == 65_537


@pytest.mark.parametrize(("leader_epoch", "begun_in"), [(1, 1), (2, 1), (2, 2)])
def test_a_leader_that_is_shorter_than_our_last_batch_is_compared_where_it_ends(stage, leader_epoch, begun_in):
    """A restored ZooKeeper gave epoch 1 to it as well: it has acknowledged its own 5..7. Its end is not where the logs part."""
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(3, size=120)
    if leader_epoch > 1:
        led.lead(leader_epoch)
        led.append(begun_in - 1)
    rig.replica.high_watermark = 10
    before = all_bytes(rig.log)
    rig.follow(leader=1, epoch=leader_epoch)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert [tuple(one)[2:] for one in stage.told()] == [(5, 1, leader_epoch)]


@pytest.mark.parametrize("kept", [6, 8, 9])
def test_a_leader_that_lost_its_end_is_ours_up_to_there(stage, kept):
    rig, led = stage.rig, stage.led
    led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), 0)
    led.log.truncate_to(kept)
    led.lead(2)
    rig.replica.high_watermark = 10
    rig.follow(leader=1, epoch=2)
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert [tuple(one)[2:] for one in stage.told()] == [(kept, 1, 2)]


@pytest.mark.parametrize("written", [0, 2, 30])
@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_an_epoch_in_which_we_wrote_nothing_is_no_other_history(stage, written, policy, caplog):
    """We led epoch 2 and wrote nothing. The next leader has a tail of epoch 1, which we had not fetched: no restore, nothing lost."""
    rig, led = stage.rig, stage.led
    led.log.append_as_follower(memoryview(bytearray(all_bytes(rig.log)[len(all_bytes(led.log)) :])), 0)
    led.lead(1)
    led.append(3)
    configs = {"cleanup.policy": policy}
    rig.follow(leader=0, epoch=2, configs=configs)
    assert rig.log.epochs.latest == 2
    led.lead(3)
    led.append(written)
    rig.follow(leader=1, epoch=3, configs=configs)
    rig.follow_until(led)
    rig.turn_until(lambda: rig.replica.high_watermark == led.log.log_end_offset)
    assert all_bytes(rig.log) == all_bytes(led.log)
    assert rig.log.epochs.entries == [one for one in led.log.epochs.entries if one[1] < rig.log.log_end_offset]
    assert not stage.told()
    assert "may be lost" not in caplog.text


def refuse_to_read(log, monkeypatch, code):
    def fail(_offset):
        raise OSError(code, "injected")

    monkeypatch.setattr(log, "header_before", fail)


def test_a_last_batch_that_can_not_be_read_is_its_directorys_failure(stage, monkeypatch, caplog):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    before = all_bytes(rig.log)
    refuse_to_read(rig.log, monkeypatch, errno.EIO)
    rig.follow(leader=1, epoch=1)
    rig.turn_until(lambda: rig.node.seat.mask)
    for _ in range(20):
        rig.turn()
    assert rig.replica.state is RowState.OFFLINE
    assert all_bytes(rig.log) == before
    assert "log directory offline" in caplog.text


def test_where_no_descriptor_is_left_it_is_compared_later_and_nothing_is_fetched_before(stage, monkeypatch):
    rig, led = stage.rig, stage.led
    led.lead(1)
    led.append(20, size=120)
    before = all_bytes(rig.log)
    with monkeypatch.context() as patch:
        refuse_to_read(rig.log, patch, errno.EMFILE)
        rig.follow(leader=1, epoch=1)
        rig.turn_until(lambda: rig.state is FollowerState.WAITING)
        for _ in range(20):
            rig.turn()
    assert all_bytes(rig.log) == before
    assert not rig.node.seat.mask
    rig.clock.ms += 60_000
    rig.turn_until(lambda: rig.state is FollowerState.FAILED)
    assert all_bytes(rig.log) == before
    assert stage.told()
