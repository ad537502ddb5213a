"""What a produce is told of a replica that another node leads, or nobody."""

from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode
from headrace.shm.partition_table import RowState
from headrace.workers.network.handlers import a00_produce

KEY, SLOT = 77, 3


@pytest.mark.parametrize(
    ("slot", "row", "error"),
    [
        (-1, None, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (SLOT, None, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (SLOT, (KEY, RowState.FOLLOWER), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (SLOT, (KEY + 1, RowState.OFFLINE), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (SLOT, (KEY, RowState.OFFLINE), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_a_replica_whose_directory_failed_says_so_when_its_leader_was_moved(slot, row, error):
    rows = {SLOT: SimpleNamespace(key=row[0], state=row[1])} if row else {}
    context = SimpleNamespace(node_id=0, seat=SimpleNamespace(partitions=SimpleNamespace(read=rows.get)))
    route = SimpleNamespace(slot=slot, key=KEY, leader=-1)
    assert a00_produce._refusal(context, 9, -1, None, route, None) == error
