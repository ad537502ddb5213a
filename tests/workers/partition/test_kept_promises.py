"""What an owner was killed over, or refused: its successor neither promises what is not synced, nor vouches for what it has only opened."""

import errno
import os

import pytest

from headrace.errors import StorageFailed
from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import RECOVERY_POINT_FILE, write_offset_checkpoint
from headrace.log.state.synced_mark import SYNCED_FILE
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import TOPIC_ID, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import Node, with_id

SYNCED = {"headrace.flush.before.ack": "true"}


def view(configs):
    return with_id(view_of(("t", 1, configs)), TOPIC_ID)


def opened_anew(path, configs):
    """By another owner: no row is left of the one before it."""
    node = Node(path)
    node.replicas.follow(view(configs))
    (one,) = node.replicas.take_opened()
    return node, one


def end(node):
    node.replicas.by_slot[0].log.abandon()


def test_the_setting_vouches_for_nothing_that_was_written_before_it(tmp_path):
    """A power loss took records that were acknowledged unsynced; the first owner is killed before it is answered."""
    node = Node(tmp_path)
    node.replicas.follow(view({}))
    node.append(0, 5)
    node.append(0, 5)
    log = node.replicas.by_slot[0].log
    path = next(log.directory.glob("*.log"))
    end(node)
    os.truncate(path, path.stat().st_size // 2)
    for _ in range(2):
        node, one = opened_anew(tmp_path, SYNCED)
        assert (one.end_offset, one.was_synced) == (5, False)
        log = node.replicas.by_slot[0].log
        assert log.recovery_point == 5, "what it says is synced all the same"
        assert not (log.directory / SYNCED_FILE).exists()
        end(node)
    node, one = opened_anew(tmp_path, SYNCED)
    node.replicas.by_slot[0].append([batch()], NOW_MS)
    assert (log.directory / SYNCED_FILE).exists(), "an append that is acknowledged says so"


def test_nor_does_a_log_that_was_put_aside_and_has_its_name_back(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(view(SYNCED))
    replica = node.replicas.by_slot[0]
    replica.append([batch() for _ in range(5)], NOW_MS)
    directory = replica.log.directory
    end(node)
    node.replicas.directories.put_aside(directory, "-stray")
    (stray,) = [one for one in directory.parent.iterdir() if one.name.endswith("-stray")]
    stray.rename(directory)
    for _ in range(2):
        node, one = opened_anew(tmp_path, SYNCED)
        assert not one.was_synced
        end(node)


def test_the_torn_end_of_a_log_that_was_synced_is_no_loss_and_damage_below_it_is_one(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(view(SYNCED))
    replica = node.replicas.by_slot[0]
    for _ in range(5):
        replica.append([batch()], NOW_MS)
    path = next(replica.log.directory.glob("*.log"))
    end(node)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:70])  # a batch that was being written, and that nobody was answered for
    node, one = opened_anew(tmp_path, SYNCED)
    assert (one.end_offset, one.was_synced, one.was_cut) == (5, True, False)
    end(node)
    damaged = bytearray(whole)
    damaged[len(whole) // 5 * 3 + 100] ^= 1
    path.write_bytes(damaged)
    write_offset_checkpoint(path.parent.parent / RECOVERY_POINT_FILE, {TopicPartition("t", 0): 5})
    for _ in range(2):
        node, one = opened_anew(tmp_path, SYNCED)
        assert (one.end_offset, one.was_cut) == (5, True), "the next owner finds a whole log, and says so all the same"
        end(node)


@pytest.mark.parametrize("how", ["refused", "killed"])
def test_a_duplicate_of_an_append_that_was_not_synced_is_acknowledged_once_it_is(node, how):
    """`flush.messages`."""
    node.replicas.follow(view({"flush.messages": "1"}))
    replica = node.replicas.by_slot[0]
    first, second = ({"producer_id": 7, "producer_epoch": 0, "base_sequence": one} for one in range(2))
    replica.append([batch(**first)], NOW_MS)
    node.disk.fails["fdatasync"] = errno.EMFILE
    with pytest.raises(StorageFailed) as refused:
        replica.append([batch(**second)], NOW_MS)
    node.disk.fails.clear()
    if how == "killed":
        node.killed().follow(view({"flush.messages": "1"}))
    else:
        replica.fail(refused.value)
        node.tick()
    replica = node.replicas.by_slot[0]
    assert replica.append([batch(**second)], NOW_MS) == [(0, 1, -1)]
    assert replica.log.recovery_point == 2


def test_so_is_one_of_a_log_that_got_the_setting_since(node):
    node.replicas.follow(view({}))
    replica = node.replicas.by_slot[0]
    one = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    replica.append([batch(**one)], NOW_MS)
    replica.log.config = node.replicas._configs.log_config(view({"flush.messages": "1"}).topics["t"])
    assert replica.append([batch(**one)], NOW_MS) == [(0, 0, -1)]
    assert replica.log.recovery_point == 1


def test_what_was_found_unsynced_is_due_by_time_too(node):
    """`flush.ms`: it counts from the opening."""
    configs = {"flush.ms": "1000"}
    node.replicas.follow(view(configs))
    assert node.append(0)
    node.killed().follow(view(configs))
    replica = node.replicas.by_slot[0]
    assert replica.log.recovery_point == 0
    node.tick()
    assert replica.log.recovery_point == node.row(0).recovery_point == 1
