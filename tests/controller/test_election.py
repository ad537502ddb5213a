import pytest

from headrace.controller import znodes
from headrace.controller.election import NOBODY, Election, OfficeLost
from headrace.controller.zk import ZkConflict, ZkLost
from tests.controller.fake_zk import FakeZk


def test_the_first_one_takes_the_office_and_the_second_follows(ensemble):
    first, second = Election(ensemble.session(), 1), Election(ensemble.session(), 2)
    assert first.run(0) == 1
    assert second.run(0) == 1
    assert (first.is_active, second.is_active) == (True, False)
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"


def test_the_follower_is_told_when_the_office_is_free_and_takes_it(ensemble):
    zk = ensemble.session()
    first, second, other = Election(zk, 1), None, ensemble.session()
    first.run(0)
    second = Election(other, 2)
    second.run(0)
    zk.expire()
    assert other.take_changes() == [znodes.CONTROLLER]
    assert second.run(0) == 2
    assert second.epoch == 2


def test_a_zombie_writes_nothing_once_another_was_elected(ensemble):
    zk = ensemble.session()
    zombie = Election(zk, 1)
    zombie.run(0)
    transaction = zombie.guarded()
    transaction.create("/written-by-a-zombie")
    ensemble.remove(znodes.CONTROLLER)
    Election(ensemble.session(), 2).run(0)
    with pytest.raises(OfficeLost):
        zombie.commit(transaction)
    assert "/written-by-a-zombie" not in ensemble.nodes
    assert not zombie.is_active


def test_a_conflict_of_the_callers_own_is_not_the_loss_of_the_office(ensemble):
    election = Election(ensemble.session(), 1)
    election.run(0)
    transaction = election.guarded()
    transaction.delete("/nothing")
    with pytest.raises(ZkConflict) as conflict:
        election.commit(transaction)
    assert not isinstance(conflict.value, OfficeLost)
    assert conflict.value.path == "/nothing"
    assert election.is_active


def test_a_restarted_process_in_the_same_session_still_holds_the_office(ensemble):
    zk = ensemble.session()
    Election(zk, 1).run(0)
    successor = Election(zk.successor(), 1)
    assert successor.run(0) == 1
    assert successor.is_active
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"
    transaction = successor.guarded()
    transaction.create("/x")
    successor.commit(transaction)


def test_an_office_of_a_session_of_ours_that_is_lost_is_not_ours(ensemble):
    Election(ensemble.session(), 1).run(0)
    again = Election(ensemble.session(), 1)
    assert again.run(0) == 1
    assert not again.is_active


def test_where_the_reply_is_lost_the_next_run_finds_that_it_was_elected(ensemble):
    election = Election(ensemble.session(), 1)
    election._zk.ensure(znodes.CONTROLLER_EPOCH, b"0")

    def lose(_ordinal):
        ensemble.after_write = lambda _ordinal: None
        raise ZkLost("no reply")

    ensemble.after_write = lose
    with pytest.raises(ZkLost):
        election.run(0)
    assert not election.is_active
    assert election.run(0) == 1
    assert election.is_active
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"


def test_a_race_for_the_office_has_one_winner(ensemble):
    slow, fast = Election(ensemble.session(), 1), Election(ensemble.session(), 2)
    slow._zk.ensure(znodes.CONTROLLER_EPOCH, b"0")

    def overtake(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        fast.run(0)

    ensemble.on_write = overtake
    assert slow.run(0) == 2
    assert (slow.is_active, fast.is_active) == (False, True)
    assert ensemble.data(znodes.CONTROLLER_EPOCH) == b"1"


def test_nobody_is_named_while_the_office_changes_hands_all_the_time(ensemble):
    election = Election(ensemble.session(), 1)

    class Vanishing(FakeZk):
        """Every write finds the epoch changed."""

        def commit(self, transaction):
            ensemble.put(znodes.CONTROLLER_EPOCH, b"7")
            super().commit(transaction)

    election._zk = Vanishing(ensemble, 5)
    assert election.run(0) == NOBODY


def test_an_office_taken_away_by_hand_is_taken_again_under_a_new_epoch(ensemble):
    election = Election(ensemble.session(), 1)
    election.run(0)
    ensemble.remove(znodes.CONTROLLER)
    assert election.run(0) == 1
    assert (election.epoch, ensemble.data(znodes.CONTROLLER_EPOCH)) == (2, b"2")
