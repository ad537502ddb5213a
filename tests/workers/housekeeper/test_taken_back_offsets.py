"""A truncation takes a log's start and its mark back: the checkpoints follow with the next pass over the rows, and
not when they are due.
"""

import pytest

from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import LOG_START_OFFSET_FILE, REPLICATION_OFFSET_FILE
from tests.support.fake_seat import view_of
from tests.workers.housekeeper.test_housekeeper_storage import Node

NAME = TopicPartition("t", 0)


@pytest.mark.parametrize("start", [0, 40])
def test_checkpoints_follow_a_truncation_at_once(tmp_path, start):
    node = Node(tmp_path, view_of(("t", 1)))
    node.fill(0)
    node.delete_records(0, start)
    node.write_checkpoints()
    assert (node.checkpoint(LOG_START_OFFSET_FILE)[NAME], node.checkpoint(REPLICATION_OFFSET_FILE)[NAME]) == (start, 60)
    node.replicas.by_slot[0].truncate(20)
    node.work()
    node.work()
    found = (node.checkpoint(LOG_START_OFFSET_FILE)[NAME], node.checkpoint(REPLICATION_OFFSET_FILE)[NAME])
    assert found == (min(start, 20), 20)
