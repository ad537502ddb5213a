"""A follower takes what its leader sends, as it is, and nothing else; nothing waits.

Holds: workers/partition/replication/fetchers.py, workers/partition/replication/followed.py, workers/partition/replication/fetch_options.py
"""

import pytest

from headrace.shm.partition_table import RowState
from tests.workers.partition.replication.follower_rig import OWN_EPOCH
from tests.workers.partition.replication.log_leader import LedLog, LogLeader


@pytest.fixture
def led(tmp_path):
    (tmp_path / "leader").mkdir()
    return LedLog(tmp_path / "leader")


@pytest.fixture
def leader(led):
    leader = LogLeader(led)
    yield leader
    leader.close()


def test_a_follower_has_the_leaders_bytes_high_watermark_and_log_start(make_rig, leader, led):
    led.append(50, size=1_000)
    led.high_watermark = 40
    rig = make_rig(leader)
    rig.follow()
    rig.follow_until(led)
    row = rig.node.row(0)
    assert (row.state, row.high_watermark, row.log_start_offset, row.log_end_offset) == (RowState.FOLLOWER, 40, 0, 50)
    led.log.advance_log_start(3)
    rig.turn_until(lambda: rig.node.row(0).log_start_offset == 3)
    led.high_watermark = None
    led.append(1)
    rig.follow_until(led)
    assert rig.node.row(0).high_watermark == 51


def test_x(make_rig, leader, led):
    rig = make_rig(leader)
    rig.follow()
    rig.settle()
    _key, version, request = leader.asked[0]
    assert (version, request.replica_state.replica_id, request.replica_state.replica_epoch) == (17, 0, OWN_EPOCH)
