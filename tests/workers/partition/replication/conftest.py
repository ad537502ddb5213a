"""What this folder's tests begin with: replicas that follow leaders which the test plays, and a worker that leads."""

import pytest

from tests.support.seats import Seats
from tests.workers.partition.replication.follower_rig import FollowerRig
from tests.workers.partition.replication.led_cluster import Cluster


@pytest.fixture
def make_rig(tmp_path):
    made = []

    def make(*leaders, **settings):
        rig = FollowerRig(tmp_path / "follower", settings)
        made.append(rig)
        for leader in leaders:
            rig.meet(leader)
        return rig

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def seats(tmp_path):
    seats = Seats(tmp_path / "logs")
    yield seats
    seats.close()


@pytest.fixture
def cluster(seats):
    return Cluster(seats)
