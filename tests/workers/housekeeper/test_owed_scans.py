"""A housekeeper without descriptors for a moment loses no directory, and does later what was due."""

from headrace.ids import partition_key
from headrace.shm.cluster_view import DoomedReplica
from tests.support.descriptors import none_left
from tests.support.fake_seat import TOPIC_ID, view_of
from tests.workers.housekeeper.test_housekeeper_storage import Node


def test_no_directory_is_lost_where_no_descriptor_is_left(tmp_path):
    node = Node(tmp_path, view_of(("t", 2)))
    node.fill(0)
    node.work()
    with none_left():
        node.work()
        node.write_checkpoints()
    node.work()
    assert not node.seat.offline_dirs()
    node.write_checkpoints()
    assert node.checkpoint()


def test_a_directory_that_could_not_be_listed_is_removed_when_it_would_have_been(tmp_path):
    node = Node(tmp_path, view_of(("t", 1), ("gone", 1)))
    doomed = DoomedReplica("gone", 0, 1, partition_key("gone", 0, TOPIC_ID))
    node.follow(view_of(("t", 1))._replace(doomed=(doomed,)))
    node.work()
    node.clock.ms += node.housekeeper._delete_delay_ms - 2_000
    with none_left():
        node.work()
    assert list(tmp_path.glob("*/gone-0.*-delete"))
    node.clock.ms += 1_000
    node.work()
    assert not list(tmp_path.glob("*/gone-0.*-delete"))
