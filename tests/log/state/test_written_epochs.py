"""The epoch of a log's last record: what logs rank by. The latest one may be assigned, and have no record."""

import pytest

from headrace.log.state.leader_epochs import written


@pytest.mark.parametrize(
    ("entries", "end_offset", "epoch"),
    [
        ([], 0, -1),
        ([], 10, -1),
        ([(0, 0), (1, 5)], 10, 1),
        ([(0, 0), (1, 5), (2, 10)], 10, 1),
        ([(0, 0), (1, 5), (2, 10)], 11, 2),
        ([(7, 0)], 0, -1),  # it was elected, and nothing was ever written
        ([(7, 30)], 30, 7),  # all records were deleted: none of them was of a later one
    ],
)
def test_the_last_record_counts(entries, end_offset, epoch):
    assert written(entries, end_offset) == epoch
