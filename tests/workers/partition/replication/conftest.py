"""What this folder's tests begin with: one partition worker's replicas that follow leaders which the test plays."""

import pytest

from tests.workers.partition.replication.follower_rig import FollowerRig


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
