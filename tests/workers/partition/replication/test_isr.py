"""A leader and its followers: the mark moves by their fetches, the ISR by the controller, and those who wait are told."""

import pytest

from headrace.errors import CorruptIndex, ErrorCode
from headrace.limits import ISR_CHECK_INTERVAL_MS_MAX, ISR_RETRY_MAX_MS
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, read_leader_epochs
from tests.workers.partition.replication.led_cluster import BROKER_EPOCH, NODE, REPLICAS, SECOND, THIRD

LAG_MS = 30_000
LATE_MS = LAG_MS + ISR_CHECK_INTERVAL_MS_MAX
WITHOUT_THIRD = (NODE, SECOND)


def catch_up(cluster, *followers):
    for follower in followers or (SECOND, THIRD):
        cluster.fetch(follower, cluster.replica.log.log_end_offset)


def test_the_mark_moves_by_the_followers_fetches_alone_and_answers_who_waits_for_it(cluster):
    cluster.produce()
    assert (cluster.mark, cluster.results) == (0, [])
    cluster.fetch(SECOND, 1)
    assert (cluster.mark, cluster.results) == (0, [])
    cluster.fetch(THIRD, 1)
    assert (cluster.mark, cluster.results) == (1, [(5, "NONE")])
    assert cluster.asked_here() == []


def test_a_fetch_of_another_partition_epoch_or_broker_is_not_counted(cluster):
    cluster.produce()
    catch_up(cluster, SECOND)
    cluster.fetch(THIRD, 1, epoch=3)
    cluster.fetch(THIRD, 1, broker_epoch=BROKER_EPOCH - 1)
    cluster.fetch(22, 1)
    assert cluster.mark == 0
    cluster.fetch(THIRD, 1, epoch=0)
    assert cluster.mark == 1


def test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster):
    catch_up(cluster)
    cluster.produce()
    catch_up(cluster, SECOND)
    cluster.wait(LAG_MS)
    assert cluster.asked_here() == []
    cluster.wait(ISR_CHECK_INTERVAL_MS_MAX)
    assert cluster.asked_here() == [(REPLICAS, WITHOUT_THIRD)]
    assert cluster.replica.isr == WITHOUT_THIRD
    assert (cluster.mark, cluster.results) == (1, [(5, "NONE")])


def test_where_nothing_is_written_nobody_is_late(cluster):
    catch_up(cluster)
    cluster.wait(100 * LAG_MS)
    assert cluster.asked_here() == []
    assert cluster.replica not in cluster.worker._isr._late, "a check visits only who may be late"


def test_a_follower_that_has_caught_up_comes_back(cluster):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.fetch(THIRD, 0)
    assert cluster.asked_here() == []
    cluster.fetch(THIRD, 1)
    cluster.turn()
    assert cluster.asked_here() == [(WITHOUT_THIRD, REPLICAS)]
    assert set(cluster.replica.isr) == set(REPLICAS)


def test_under_steady_load_a_follower_catches_up_all_the_same(cluster):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    for _ in range(50):
        end_offset = cluster.replica.log.log_end_offset
        cluster.produce(acks=1)
        cluster.clock.ms += 10
        cluster.fetch(SECOND, end_offset + 1)
        cluster.fetch(THIRD, end_offset)
        if THIRD in cluster.replica.isr:
            return
    raise AssertionError("the mark ran away from it")


def test_who_is_away_may_join_as_soon_as_the_view_has_it(cluster):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    del cluster.live[THIRD]
    cluster.publish()
    cluster.turn()
    cluster.fetch(THIRD, 1)
    cluster.turn()
    assert cluster.asked_here() == []
    cluster.live[THIRD] = BROKER_EPOCH
    cluster.publish()
    cluster.turn()
    assert cluster.asked_here() == [(WITHOUT_THIRD, REPLICAS)]


def test_the_mark_waits_for_both_isrs_until_the_controller_has_answered(cluster):
    catch_up(cluster)
    cluster.produce()
    catch_up(cluster, SECOND)
    cluster.is_deaf = True
    cluster.wait(LATE_MS)
    assert cluster.asked_here() == [(REPLICAS, WITHOUT_THIRD)]
    cluster.wait(LATE_MS)
    assert (cluster.mark, cluster.results, cluster.asked_here()) == (0, [], []), "one in flight"
    cluster.answer()
    cluster.turn()
    assert (cluster.mark, cluster.results) == (1, [(5, "NONE")])


def test_who_was_asked_to_join_is_waited_for_before_it_has_joined(cluster):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.is_deaf = True
    cluster.fetch(THIRD, 1)
    cluster.turn()
    cluster.produce(6)
    catch_up(cluster, SECOND)
    cluster.wait(10 * LAG_MS)
    assert cluster.mark == 1, "it may be in the ISR already"


@pytest.mark.parametrize(
    "error",
    ["UNKNOWN_SERVER_ERROR", "REQUEST_TIMED_OUT", "NOT_CONTROLLER", "INVALID_UPDATE_VERSION", "STALE_BROKER_EPOCH"],
)
def test_a_change_whose_outcome_is_not_known_is_pending_still_and_asked_for_again(cluster, error):
    """KAFKA-12686."""
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.asked_here()
    cluster.answers = dict.fromkeys(range(4), ErrorCode[error])
    cluster.fetch(THIRD, 1)
    cluster.turn()
    cluster.produce(6)
    catch_up(cluster, SECOND)
    for _ in range(5):
        cluster.wait(ISR_RETRY_MAX_MS)
    assert cluster.mark == 1
    asked = cluster.asked_here()
    assert 3 <= len(asked) <= 7
    assert set(asked) == {(WITHOUT_THIRD, REPLICAS)}, "the same, whatever happened since"
    cluster.answers = {}
    cluster.wait(ISR_RETRY_MAX_MS)
    assert set(cluster.replica.isr) == set(REPLICAS)
    catch_up(cluster, THIRD)
    assert cluster.mark == 2


@pytest.mark.parametrize("error", ["INELIGIBLE_REPLICA", "OPERATION_NOT_ATTEMPTED"])
def test_a_change_that_was_certainly_not_done_holds_the_mark_no_more(cluster, error):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.asked_here()
    cluster.answers = dict.fromkeys(range(4), ErrorCode[error])
    cluster.fetch(THIRD, 1)
    cluster.turn()
    assert len(cluster.asked_here()) == 1
    cluster.produce(6)
    catch_up(cluster, SECOND)
    cluster.wait(LAG_MS + 1)
    assert cluster.mark == 2
    assert len(cluster.asked_here()) <= 1, "not in each cycle"


def test_a_change_that_was_asked_twice_and_refused_holds_the_mark_until_the_first_try_can_not_be_done(cluster):
    """The first try may lie at a controller that was stopped: it would be carried out after the second was refused."""
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.asked_here()
    cluster.answers = dict.fromkeys(range(4), ErrorCode.REQUEST_TIMED_OUT)
    cluster.fetch(THIRD, 1)
    cluster.turn()
    cluster.produce(6)
    catch_up(cluster, SECOND)
    cluster.answers = dict.fromkeys(range(4), ErrorCode.INELIGIBLE_REPLICA)
    cluster.is_deaf = True
    cluster.wait(ISR_RETRY_MAX_MS)
    cluster.answer()
    cluster.wait(LAG_MS + 1)
    assert cluster.mark == 1
    assert cluster.asked_here()[-1] == (WITHOUT_THIRD, WITHOUT_THIRD), "the state is written again as it is"
    cluster.answers = {}
    cluster.answer()
    cluster.turn()
    assert cluster.mark == 2


def test_a_change_that_is_refused_again_and_again_is_logged_ever_more_rarely(cluster, caplog):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.answers = dict.fromkeys(range(4), ErrorCode.INELIGIBLE_REPLICA)
    caplog.set_level("INFO")
    cluster.asked_here()
    for _ in range(40):
        cluster.wait(ISR_CHECK_INTERVAL_MS_MAX)
        cluster.fetch(THIRD, 1)
    asked = len(cluster.asked_here())
    assert asked >= 10
    assert caplog.text.count("ISR change refused") <= 7
    assert caplog.text.count("ISR change requested") <= 8


def test_a_controller_that_dies_is_asked_again(cluster, seats):
    catch_up(cluster)
    cluster.produce()
    catch_up(cluster, SECOND)
    cluster.is_deaf = True
    cluster.wait(LATE_MS)
    assert len(cluster.asked_here()) == 1
    cluster.worker._mailbox.forget(cluster.worker._seat.wiring.controller_id)  # as `peers_changed` does
    cluster.is_deaf = False
    cluster.replies.clear()
    cluster.turn()
    cluster.wait(ISR_RETRY_MAX_MS)
    assert cluster.asked_here() == [(REPLICAS, WITHOUT_THIRD)]
    assert cluster.mark == 1


def test_a_change_that_the_view_shows_before_the_answer_is_no_reason_to_ask_again(cluster):
    """KAFKA-12751."""
    catch_up(cluster)
    cluster.produce()
    catch_up(cluster, SECOND)
    cluster.is_deaf = True
    cluster.wait(LATE_MS)
    cluster.publish(isr=WITHOUT_THIRD, index=cluster.own)
    cluster.turn()
    assert cluster.mark == 1
    cluster.answers = dict.fromkeys(range(4), ErrorCode.INVALID_UPDATE_VERSION)  # it was done by the first of two tries
    cluster.answer()
    cluster.turn()
    cluster.asked_here()
    cluster.answers = {}
    cluster.is_deaf = False
    cluster.fetch(THIRD, 1)
    cluster.turn()
    assert cluster.asked_here() == [(WITHOUT_THIRD, REPLICAS)], "the next change is asked for"


def test_a_new_leader_epoch_ends_what_was_asked_for_and_knows_nothing_of_followers(cluster):
    catch_up(cluster)
    cluster.produce()
    catch_up(cluster, SECOND)
    cluster.is_deaf = True
    cluster.wait(LATE_MS)
    cluster.asked_here()
    cluster.publish(epoch=3, isr=WITHOUT_THIRD, index=cluster.own)
    cluster.turn()
    assert cluster.mark == 0, "SECOND has not fetched in this epoch"
    cluster.answer()
    cluster.turn()
    assert cluster.replica.isr == WITHOUT_THIRD
    cluster.fetch(SECOND, 1, epoch=3)
    assert cluster.mark == 1


def test_a_partition_that_is_led_elsewhere_is_forgotten(cluster):
    catch_up(cluster)
    cluster.produce()
    cluster.publish(epoch=1, leader=SECOND)
    cluster.turn()
    assert cluster.results == [(5, "NOT_LEADER_OR_FOLLOWER")]
    assert cluster.replica.followers is None
    cluster.wait(LATE_MS)
    assert cluster.asked_here() == []
    keeper = cluster.worker._isr
    assert not keeper._late
    assert not keeper._reduced


# Minimum of in-sync replicas


def below_minimum(cluster):
    cluster.replica.configure(cluster.replica.log.config, 2)
    cluster.publish(isr=(NODE,), index=cluster.own)
    cluster.turn()


def test_below_the_minimum_acks_all_is_refused_before_the_append(cluster):
    below_minimum(cluster)
    cluster.produce()
    assert cluster.results == [(5, "NOT_ENOUGH_REPLICAS")]
    assert cluster.replica.log.log_end_offset == 0


def test_below_the_minimum_the_mark_stands_and_who_waits_runs_out_of_time(cluster):
    """KAFKA-15583: a record on the leader alone is none that acks=all promises."""
    cluster.replica.configure(cluster.replica.log.config, 2)
    cluster.produce(timeout_ms=500)
    below_minimum(cluster)
    assert (cluster.mark, cluster.results) == (0, [])
    cluster.wait(500)
    assert cluster.results == [(5, "REQUEST_TIMED_OUT")]
    assert cluster.mark == 0


def test_a_smaller_minimum_lets_the_mark_go_on(cluster):
    below_minimum(cluster)
    cluster.produce(acks=1)
    assert cluster.mark == 0
    cluster.wait(LAG_MS + 1)  # until then it waits for those who were in sync when it began to lead
    assert cluster.mark == 0
    cluster.replica.configure(cluster.replica.log.config, 1)
    cluster.turn()
    cluster.wait(ISR_CHECK_INTERVAL_MS_MAX)
    assert cluster.mark == 1


def test_a_minimum_above_the_number_of_replicas_is_that_number(cluster):
    cluster.publish(isr=(NODE,), replicas=(NODE,))
    cluster.turn()
    cluster.replica.configure(cluster.replica.log.config, 2)
    cluster.produce()
    assert (cluster.mark, cluster.results) == (1, [(5, "NONE")])


def test_the_isr_shrank_below_the_minimum_between_mark_and_answer(cluster):
    cluster.produce()
    replica = cluster.replica
    replica.min_insync_replicas = 4
    replica.move_high_watermark(1)
    cluster.turn()
    assert cluster.results == [(5, "NOT_ENOUGH_REPLICAS_AFTER_APPEND")]


# A process that died


def test_a_worker_that_comes_back_in_the_same_epoch_moves_no_mark_by_itself(cluster):
    cluster.produce()
    catch_up(cluster)
    cluster.produce(6)
    cluster.restart()
    assert (cluster.replica.log.log_end_offset, cluster.mark) == (2, 1)
    cluster.fetch(SECOND, 2)
    assert cluster.mark == 1
    cluster.fetch(THIRD, 2)
    assert cluster.mark == 2


def test_a_worker_that_comes_back_waits_for_all_until_it_knows_that_nothing_is_in_flight(cluster):
    """What its predecessor had asked may be done at any time: a follower may be in the ISR already."""
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.is_deaf = True
    cluster.restart()
    cluster.produce(6)
    cluster.fetch(SECOND, 2)
    assert cluster.mark == 1
    assert cluster.asked_here() == [(WITHOUT_THIRD, WITHOUT_THIRD)]
    cluster.publish(isr=REPLICAS, index=cluster.own)  # what the predecessor had asked for
    cluster.answers = dict.fromkeys(range(4), ErrorCode.INVALID_UPDATE_VERSION)
    cluster.answer()
    cluster.turn()
    assert cluster.mark == 1
    cluster.fetch(THIRD, 2)
    assert cluster.mark == 2


def test_a_worker_that_comes_back_and_hears_that_nothing_is_in_flight_goes_on(cluster):
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.restart()
    cluster.produce(6)
    cluster.fetch(SECOND, 2)
    cluster.turn()
    assert cluster.mark == 2


def test_a_worker_that_comes_back_asks_though_a_stranger_makes_the_isr_as_large_as_the_assignment(cluster):
    """KAFKA-9672: THIRD may have been asked for, and 22 not be out yet."""
    isr = (NODE, SECOND, 22)
    cluster.publish(isr=isr, index=cluster.own)
    cluster.turn()
    cluster.is_deaf = True
    cluster.restart()
    assert cluster.asked_here()[-1] == (isr, isr)


def test_a_worker_that_comes_back_waits_on_where_its_question_is_refused(cluster):
    """Nothing was fenced: what its predecessor had asked for may be done at any time."""
    test_a_follower_that_stops_leaves_the_isr_and_the_mark_goes_on_without_it(cluster)
    cluster.answers = dict.fromkeys(range(4), ErrorCode.INELIGIBLE_REPLICA)
    cluster.restart()
    cluster.produce(6)
    cluster.fetch(SECOND, 2)
    cluster.wait(ISR_RETRY_MAX_MS)
    assert cluster.mark == 1
    cluster.answers = {}
    cluster.wait(ISR_RETRY_MAX_MS)
    assert cluster.mark == 2


def test_an_epoch_is_noted_when_its_leader_is_elected_and_not_with_its_first_append(cluster):
    """KAFKA-7415: a leader that dies before that, and whoever asks it, would not know where the epoch before it ended."""
    cluster.produce(acks=1)
    cluster.publish(epoch=3)
    cluster.turn()
    path = cluster.replica.log.directory / LEADER_EPOCH_FILE
    assert read_leader_epochs(path) == [(0, 0), (3, 1)]
    cluster.restart()
    assert cluster.replica.log.epochs.entries == [(0, 0), (3, 1)]
    assert cluster.replica.log.epochs.end_offset_for(0, 1) == (0, 1)
    cluster.publish(epoch=2)
    cluster.turn()
    assert cluster.replica.log.epochs.latest == 3, "it never goes back"


def test_a_role_that_was_half_taken_is_taken_when_the_same_epoch_comes_again(cluster, monkeypatch):
    """KAFKA-9307: the epoch is not remembered before everything is done."""
    log = cluster.replica.log
    was = log.assign_leader_epoch

    def fail(_epoch):
        monkeypatch.setattr(log, "assign_leader_epoch", was)
        raise CorruptIndex("here")

    monkeypatch.setattr(log, "assign_leader_epoch", fail)
    [view] = [one for one in cluster.view.topics["t"].partitions if one.index == cluster.own]
    view = view._replace(leader_epoch=3)
    with pytest.raises(CorruptIndex):
        cluster.replica.take_role(view)
    assert (cluster.replica.leader_epoch, log.epochs.latest) == (0, 0)
    assert cluster.replica.take_role(view)
    assert (cluster.replica.leader_epoch, log.epochs.latest) == (3, 3)


def test_a_mark_that_moves_with_its_followers_is_nowhere_looked_up(cluster, monkeypatch):
    looked_up = []
    for number in range(100):
        cluster.produce(number, acks=1)
    log = cluster.replica.log
    was = log.position_of
    monkeypatch.setattr(log, "position_of", lambda offset: looked_up.append(offset) or was(offset))
    cluster.fetch(SECOND, 100)
    for offset in (1, 40, 41, 70, 99, 100):
        cluster.fetch(THIRD, offset)
        row = cluster.controller.seat.partitions.read(cluster.partition.slot)
        assert row.high_watermark == offset
        assert (row.hw_segment, row.hw_position) == was(offset)
    assert looked_up == [1, 40, 41], "the last 32 appends are remembered, and no more than 64"


def test_a_mark_at_the_end_of_a_segment_is_where_readers_stop(cluster):
    log = cluster.replica.log
    cluster.produce(1, acks=1)
    assert log.roll_if_older(2**62)
    cluster.replica.publish()
    cluster.produce(2, acks=1)
    for follower in (SECOND, THIRD):
        cluster.fetch(follower, 1)
    row = cluster.controller.seat.partitions.read(cluster.partition.slot)
    assert row.high_watermark == 1
    assert (row.hw_segment, row.hw_position) == log.position_of(1) == (1, 0)
