"""What the controller process reads in the rows of the partition table."""

from types import SimpleNamespace

import pytest

from headrace.controller.agent.hosted_rows import HostedRows
from headrace.shm.layout import PARTITION_ROW_BYTES, PARTITION_ROWS, WORD
from headrace.shm.partition_table import PartitionRow, RowState
from tests.support.fake_seat import FakeSeat


@pytest.mark.parametrize("is_torn", [False, True])
@pytest.mark.parametrize(
    ("state", "generation", "is_left"),
    [
        (RowState.LEADER, 1, True),
        (RowState.LEADER, 2, False),
        (RowState.OFFLINE, 1, False),
        (RowState.LOADING, 1, True),  # opened short, and not reported
        (RowState.LOADING, 0, False),
    ],
)
def test_a_row_is_left_that_a_killed_owner_wrote_or_was_writing(tmp_path, is_torn, state, generation, is_left):
    seat = FakeSeat([tmp_path])
    seat.processes = SimpleNamespace(generation=lambda process_id: 2)
    seat.partitions.publish(3, PartitionRow(state, 77, generation, 0, *(0,) * 15))
    if is_torn:
        seat.partitions._words[(PARTITION_ROWS + 3 * PARTITION_ROW_BYTES) // WORD] |= 1
    rows = HostedRows(seat, known=None)
    assert rows.is_left("t", 0, 3) == is_left
    assert not rows.is_left("t", 0, -1)
