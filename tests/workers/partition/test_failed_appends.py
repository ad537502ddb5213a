"""What a row says of a log whose append failed: no more than before, until the log is opened again."""

import errno

import pytest

from headrace.errors import StorageExhausted
from headrace.log.reading.reader import LogReader
from headrace.protocol.control_record import EndMarker
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import LogMaker, batch
from tests.workers.partition.replica_fixtures import Node

ABORT = EndMarker(7, 0, 0, True)
TWO = {"replicas": (0, 1), "isr": (0, 1)}


def transactional():
    return batch(producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT)


def view(configs=None, **role):
    one = view_of(("t", 1, configs or {}))
    (topic,) = one.topics.values()
    return one._replace(topics={"t": topic._replace(partitions=(topic.partitions[0]._replace(**role),))})


def refused(node, call):
    with pytest.raises(StorageExhausted) as failure:
        call()
    replica = node.replicas.by_slot[0]
    replica.fail(failure.value)
    assert replica.is_full


def shows_aborted_record(node):
    """To a read_committed reader, who goes by the row and the files alone."""
    row = node.row(0)
    reader = LogReader(node.replicas.by_slot[0].log.directory)
    reader.refresh(row.segments_version)
    found = reader.locate(0, 1 << 20, row.lso_segment, row.lso_position, True, row.last_stable_offset)
    aborted = reader.aborted_transactions(0, found, row.end_segment, row.last_stable_offset) if found else []
    reader.close()
    return row.last_stable_offset > 0 and not aborted


def test_a_leader_shows_no_abort_marker_whose_index_entry_found_no_room(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(view(**TWO))
    replica = node.replicas.by_slot[0]
    replica.append([transactional(), batch()], NOW_MS)
    node.disk.fails = {"open": errno.ENOSPC}
    refused(node, lambda: replica.append_markers([ABORT], NOW_MS))
    for offset in (2, replica.log.log_end_offset):
        replica.followers.note_fetch(replica.followers.get(1), offset, 0, -1)
        replica.catch_up_high_watermark()
        assert (node.row(0).log_end_offset, node.row(0).high_watermark) == (2, 2), "what all have is committed"
        assert not shows_aborted_record(node)
    node.disk.fails = {}
    node.tick()
    assert not replica.is_full
    assert (node.row(0).log_end_offset, replica.append_markers([ABORT], NOW_MS)) == (2, [(0, 2)])
    replica.followers.note_fetch(replica.followers.get(1), 3, 0, -1)
    replica.catch_up_high_watermark()
    assert node.row(0).last_stable_offset == 3
    assert not shows_aborted_record(node)


def test_nor_does_a_follower(tmp_path):
    source = LogMaker(tmp_path / "leader")
    leader = source.open()
    leader.append_as_leader([transactional(), batch()], 0, NOW_MS)
    before = leader.end_position
    leader.append_marker(*ABORT, 0, NOW_MS)
    data = memoryview((leader.directory / f"{0:020d}.log").read_bytes()[: leader.end_position])
    (tmp_path / "node").mkdir()
    node = Node(tmp_path / "node")
    node.replicas.follow(view(leader=1, **TWO))
    replica = node.replicas.by_slot[0]
    replica.follow(data[:before], 0, 0, NOW_MS)
    node.disk.fails = {"open": errno.EMFILE}
    refused(node, lambda: replica.follow(data[before:], 2, 0, NOW_MS))
    refused(node, lambda: replica.follow(data[before:], 3, 0, NOW_MS))
    assert (node.row(0).log_end_offset, node.row(0).high_watermark) == (2, 2)
    assert not shows_aborted_record(node)
    assert replica.log.log_end_offset == 2, "it asks its leader for the marker again"
    leader.abandon()


def test_nor_does_one_that_gets_another_epoch(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(view())
    replica = node.replicas.by_slot[0]
    replica.append([transactional()], NOW_MS)
    node.disk.fails = {"open": errno.ENOSPC}
    refused(node, lambda: replica.append_markers([ABORT], NOW_MS))
    node.replicas.follow(view(leader_epoch=1)._replace(version=2))
    row = node.row(0)
    assert (row.leader_epoch, row.log_end_offset, row.high_watermark, row.last_stable_offset) == (1, 1, 1, 0)


@pytest.mark.parametrize("synced", ["false", "true"])
def test_what_an_append_wrote_before_its_roll_failed_is_not_shown(tmp_path, synced):
    """Nothing of it was synced, and its client was told of an error."""
    node = Node(tmp_path)
    node.replicas.follow(view({"segment.bytes": "1000", "headrace.flush.before.ack": synced}))
    replica = node.replicas.by_slot[0]
    replica.append([batch()], NOW_MS)
    position = node.row(0).end_position
    node.disk.fails = {"open": errno.ENOSPC}
    refused(node, lambda: replica.append([batch() for _ in range(12)], NOW_MS))
    assert replica.log.log_end_offset > 1
    node.replicas.follow(
        view({"segment.bytes": "1000", "headrace.flush.before.ack": synced}, leader_epoch=1)._replace(version=2)
    )
    row = node.row(0)
    assert (row.leader_epoch, row.log_end_offset, row.high_watermark, row.end_position) == (1, 1, 1, position)
    assert replica.high_watermark == 1
    node.disk.fails = {}
    node.tick()
    assert node.row(0).high_watermark == replica.log.log_end_offset > 1
    assert synced == "false" or replica.log.recovery_point == replica.log.log_end_offset
