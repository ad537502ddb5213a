"""Leader epochs that brokers have and states don't: nobody is elected over them, nor below them."""

import pytest

from headrace.controller.active.heard_epochs import HeardEpochs
from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState, Registration
from headrace.leader_eras import ERA
from headrace.shm.cluster_view import EMPTY_VIEW

PLACE = ("t", 0)
AHEAD = HeldReplica("", end_offset=9, end_epoch=5, parted_at=3, parted_from=-1, parted_in=2)


@pytest.fixture
def heard(ensemble):
    known = KnownCluster(0, EMPTY_VIEW, 16)
    known.brokers = {broker: Registration(broker, "there", 1, None) for broker in (1, 2)}
    return HeardEpochs(ensemble.session(), known)


def hold(ensemble, broker, held):
    ensemble.put(held_znodes.held_path(broker, "t"), held_znodes.encode_held({0: held}))


def state(epoch, leader=-1):
    return PartitionState(leader, epoch, (1, 2, 3), 1, 4)


def test_a_live_broker_that_is_ahead_decides_until_it_has_raised_the_epoch(heard, ensemble):
    hold(ensemble, 1, AHEAD)
    ensemble.run(heard.refresh())
    for epoch in (2, 4, 9):
        assert heard.is_disputed(PLACE, state(epoch))
    assert not heard.is_disputed(PLACE, state(ERA))
    assert not heard.is_disputed(("t", 1), state(2))
    ensemble.remove(held_znodes.held_path(1, "t"))
    ensemble.run(heard.refresh())
    assert not heard.is_disputed(PLACE, state(2))
    assert heard.above(PLACE, state(2)).leader_epoch == 5  # it was heard of all the same
    assert heard.above(PLACE, state(6)) == state(6)
    assert heard.above(("t", 1), state(2)) == state(2)


def test_one_whose_log_is_not_open_yet_may_be_ahead(heard, ensemble):
    hold(ensemble, 2, HeldReplica("", parted_at=0, parted_from=-1, parted_in=ERA))
    ensemble.run(heard.refresh())
    assert heard.is_disputed(PLACE, state(ERA + 2))
    assert not heard.is_disputed(PLACE, state(2 * ERA))
    hold(ensemble, 2, AHEAD._replace(parted_in=ERA))  # it is open, and was away in the era before
    ensemble.run(heard.refresh())
    assert heard.is_disputed(PLACE, state(ERA + 2))


@pytest.mark.parametrize(("broker", "held"), [
    (3, AHEAD),  # it is away
    (1, HeldReplica("", end_offset=9, end_epoch=5)),  # it may have lost something, and is not ahead
    (1, AHEAD._replace(parted_in=5, parted_from=3)),  # it parted from a leader in one epoch: that one's followers may lead
])  # fmt: skip
def test_others_do_not(heard, ensemble, broker, held):
    hold(ensemble, broker, held)
    ensemble.run(heard.refresh())
    assert not heard.is_disputed(PLACE, state(2))


class Pause:
    """Whoever awaits it goes on when it is sent something."""

    def __await__(self):
        yield


def test_of_two_readings_the_one_that_began_later_counts(heard, monkeypatch):
    """The first one ended last, and a broker that had come meanwhile was not heard: nobody elected it, nor looked again."""

    async def children(_path):
        await Pause()
        return []

    monkeypatch.setattr(heard._zk, "children", children)
    first = heard.refresh()
    first.send(None)
    heard._known.brokers = {**heard._known.brokers, 3: Registration(3, "there", 1, None)}
    second = heard.refresh()
    second.send(None)
    for reading in (second, first):
        with pytest.raises(StopIteration):
            reading.send(None)
        assert heard.is_heard(3)
