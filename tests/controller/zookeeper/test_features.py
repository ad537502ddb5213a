"""/feature, as Apache's brokers expect it."""

import pytest

from headrace.controller.zookeeper import features, znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved


@pytest.fixture
def guard(ensemble):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"3")
    return EpochGuard(ensemble.session(), 3, 0)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        ((2, 6), None),
        ((2, 7), b'{"features":{},"status":1,"version":1}'),
        ((3, 2), b'{"features":{},"status":1,"version":1}'),
        ((3, 3), b'{"features":{},"status":1,"version":2}'),
        ((3, 9), b'{"features":{},"status":1,"version":2}'),
    ],
)
def test_there_is_no_feature_that_a_broker_may_not_know(ensemble, guard, version, data):
    ensemble.run(features.ensure(ensemble.session(), guard, version))
    assert (ensemble.data(znodes.FEATURE) if znodes.FEATURE in ensemble.nodes else None) == data


def test_what_is_there_stays(ensemble, guard):
    ensemble.put(znodes.FEATURE, b"theirs")
    writes = ensemble.writes
    ensemble.run(features.ensure(ensemble.session(), guard, (3, 9)))
    assert ensemble.data(znodes.FEATURE) == b"theirs"
    assert ensemble.writes == writes


def test_a_zombie_writes_nothing(ensemble, guard):
    ensemble.put(znodes.CONTROLLER_EPOCH, b"4")
    with pytest.raises(ControllerMoved):
        ensemble.run(features.ensure(ensemble.session(), guard, (3, 9)))
    assert znodes.FEATURE not in ensemble.nodes
