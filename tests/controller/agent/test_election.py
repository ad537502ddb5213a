"""Who is elected, and what a zombie may not."""

import pytest

from headrace.controller.agent.election import NOBODY, Election
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict, ZkLost
from tests.controller.fake_zk import FakeZk


def guard_of(election):
    return EpochGuard(election._zk, election.epoch, election.epoch_version)


def test_the_first_one_is_elected_and_the_second_follows(ensemble):
    first, second = Election(ensemble.session(), 1), Election(ensemble.session(), 2)
    assert ensemble.run(first.run(0)) == 1
    assert ensemble.run(second.run(0)) == 1
    assert (first.is_active, second.is_active) == (True, False)
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"


def test_the_follower_is_told_when_nobody_is_and_is_elected(ensemble):
    zk = ensemble.session()
    first, second, other = Election(zk, 1), None, ensemble.session()
    ensemble.run(first.run(0))
    second = Election(other, 2)
    ensemble.run(second.run(0))
    zk.expire()
    assert other.take_changes() == [znodes.CONTROLLER]
    assert ensemble.run(second.run(0)) == 2
    assert second.epoch == 2


def test_a_controller_begins_above_the_epochs_that_it_has_seen_whatever_zookeeper_has(ensemble):
    election = Election(ensemble.session(), 1)
    ensemble.run(election.run(0, seen_epoch=8))
    assert election.epoch == 9
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"9"


@pytest.mark.parametrize("is_known", [False, True], ids=["after a restart", "in the same term"])
def test_a_term_that_is_resumed_below_an_epoch_that_was_seen_is_given_up_for_another(ensemble, is_known):
    """ZooKeeper was put back to a backup that has our session, and /controller of an earlier term."""
    election = Election(ensemble.session(), 1)
    ensemble.run(election.run(0))
    if not is_known:
        election.step_down()
    assert ensemble.run(election.run(0, seen_epoch=8)) == 1
    assert (election.is_active, election.epoch) == (True, 9)
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"9"
    ensemble.run(guard_of(election).commit(guard_of(election).begin()))
    assert ensemble.run(election.run(0, seen_epoch=9)) == 1
    assert election.epoch == 9


def test_the_controller_of_another_is_not_given_up(ensemble):
    """It was elected between the read and the removal."""
    zk, other = ensemble.session(), Election(ensemble.session(), 2)
    election = Election(zk, 1)
    ensemble.run(election.run(0))

    def on_write(_ordinal):
        ensemble.on_write = lambda _number: None
        ensemble.remove(znodes.CONTROLLER)
        ensemble.run(other.run(0, seen_epoch=8))

    ensemble.on_write = on_write
    assert ensemble.run(election.run(0, seen_epoch=8)) == 2
    assert not election.is_active
    assert other.epoch == 9
    ensemble.run(guard_of(other).commit(guard_of(other).begin()))


def test_a_zombie_writes_nothing_once_another_was_elected(ensemble):
    zk = ensemble.session()
    zombie = Election(zk, 1)
    ensemble.run(zombie.run(0))
    transaction = guard_of(zombie).begin()
    transaction.create("/written-by-a-zombie")
    ensemble.remove(znodes.CONTROLLER)
    ensemble.run(Election(ensemble.session(), 2).run(0))
    with pytest.raises(ControllerMoved):
        ensemble.run(guard_of(zombie).commit(transaction))
    assert "/written-by-a-zombie" not in ensemble.nodes


def test_a_conflict_of_the_callers_own_is_no_move_of_the_controller(ensemble):
    election = Election(ensemble.session(), 1)
    ensemble.run(election.run(0))
    transaction = guard_of(election).begin()
    transaction.delete("/nothing")
    with pytest.raises(ZkConflict) as conflict:
        ensemble.run(guard_of(election).commit(transaction))
    assert not isinstance(conflict.value, ControllerMoved)
    assert conflict.value.path == "/nothing"
    assert election.is_active


def test_a_restarted_process_in_the_same_session_is_still_elected(ensemble):
    zk = ensemble.session()
    ensemble.run(Election(zk, 1).run(0))
    successor = Election(zk.successor(), 1)
    assert ensemble.run(successor.run(0)) == 1
    assert successor.is_active
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"
    transaction = guard_of(successor).begin()
    transaction.create("/x")
    ensemble.run(guard_of(successor).commit(transaction))


def test_a_term_of_a_session_of_ours_that_is_lost_is_not_ours(ensemble):
    ensemble.run(Election(ensemble.session(), 1).run(0))
    again = Election(ensemble.session(), 1)
    assert ensemble.run(again.run(0)) == 1
    assert not again.is_active


def test_where_the_reply_is_lost_the_next_run_finds_that_it_was_elected(ensemble):
    election = Election(ensemble.session(), 1)
    ensemble.run(election._zk.ensure(znodes.CONTROLLER_EPOCH, b"0"))

    def lose(_ordinal):
        ensemble.after_write = lambda _ordinal: None
        raise ZkLost("no reply")

    ensemble.after_write = lose
    with pytest.raises(ZkLost):
        ensemble.run(election.run(0))
    assert not election.is_active
    assert ensemble.run(election.run(0)) == 1
    assert election.is_active
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"


def test_a_term_that_ended_is_not_taken_for_the_next_one_whose_reply_is_lost(ensemble):
    election = Election(ensemble.session(), 1)
    ensemble.run(election.run(0))
    ensemble.remove(znodes.CONTROLLER)

    def lose(_ordinal):
        ensemble.after_write = lambda _ordinal: None
        raise ZkLost("no reply")

    ensemble.after_write = lose
    with pytest.raises(ZkLost):
        ensemble.run(election.run(0))
    assert ensemble.run(election.run(0)) == 1
    assert (election.epoch, election.epoch_version) == (2, ensemble.nodes[znodes.CONTROLLER_EPOCH].version)


def test_a_race_has_one_winner(ensemble):
    slow, fast = Election(ensemble.session(), 1), Election(ensemble.session(), 2)
    ensemble.run(slow._zk.ensure(znodes.CONTROLLER_EPOCH, b"0"))

    def overtake(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        ensemble.run(fast.run(0))

    ensemble.on_write = overtake
    assert ensemble.run(slow.run(0)) == 2
    assert (slow.is_active, fast.is_active) == (False, True)
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"


def test_nobody_is_named_while_others_are_elected_all_the_time(ensemble):
    election = Election(ensemble.session(), 1)

    class Vanishing(FakeZk):
        """Every write finds the epoch changed."""

        async def commit(self, transaction):
            ensemble.put(znodes.CONTROLLER_EPOCH, b"7")
            await super().commit(transaction)

    election._zk = Vanishing(ensemble, 5)
    assert ensemble.run(election.run(0)) == NOBODY


def test_a_term_ended_by_hand_begins_again_under_a_new_epoch(ensemble):
    election = Election(ensemble.session(), 1)
    ensemble.run(election.run(0))
    ensemble.remove(znodes.CONTROLLER)
    assert ensemble.run(election.run(0)) == 1
    assert (election.epoch, ensemble.data(znodes.CONTROLLER_EPOCH)) == (2, b"2")
