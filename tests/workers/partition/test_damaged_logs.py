"""A log whose own files make no sense takes its replica out of service, and nothing else: its log directory stays."""

import pytest

from headrace.errors import ErrorCode, LogDamaged, StorageFailed
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from headrace.shm.messages import (
    FOLLOWER_FETCHED,
    FOLLOWER_FETCHED_ENTRY,
    MARKER,
    REQUEST,
    REQUEST_HEADER,
    RequestKind,
)
from headrace.shm.partition_table import RowState
from headrace.workers.partition.coordination.marker_writes import MarkerWrites
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import SilentRing, view_of
from tests.support.log_fixtures import batch
from tests.workers.partition.replica_fixtures import Node
from tests.workers.partition.test_append import Worker


def damage(replica, position):
    """The magic of a batch."""
    with open(replica.log.directory / f"{0:020d}.log", "r+b") as file:
        file.seek(position + 16)
        file.write(b"\x77")


def worker_of(path, replicas):
    view = view_of(("damaged", 1), ("healthy", 1))
    topic = view.topics["damaged"]
    changed = topic._replace(partitions=(topic.partitions[0]._replace(replicas=replicas, isr=replicas),))
    worker = Worker(path, view._replace(topics={**view.topics, "damaged": changed}))
    worker.seat.writers[0] = SilentRing()
    for kind, handler in MarkerWrites(worker.replicas.by_slot, [], FakeClock()).handlers().items():
        worker.intake._mailbox.serve(kind, handler)
    return worker


def states(worker):
    return [RowState(worker.seat.partitions.read(slot).state) for slot in (0, 1)]


@pytest.mark.parametrize("found_by", ["marker", "fetch"])
def test_a_produce_of_the_cycle_in_which_the_damage_is_found_costs_no_directory(tmp_path, found_by):
    worker = worker_of(tmp_path, (0, 1) if found_by == "fetch" else (0,))
    replica = worker.replicas.by_slot[0]
    kinds = [{"producer_id": number, "producer_epoch": 0, "base_sequence": 0} for number in (1, 2)]
    first, other = [batch(attributes=TRANSACTIONAL_BIT, **kind) for kind in kinds]
    replica.append([batch(), batch(), batch()] if found_by == "fetch" else [first, batch(), other, batch()], NOW_MS)
    damage(replica, len(batch()))
    worker.send("damaged")
    worker.send("healthy")
    if found_by == "fetch":
        body = FOLLOWER_FETCHED_ENTRY.pack(0, replica.key, 1, 0, -1, 2, 0)
        worker.seat.readers[0].messages.append((FOLLOWER_FETCHED, memoryview(bytearray(body))))
    else:
        damage(replica, 0)
        body = REQUEST_HEADER.pack(1, RequestKind.WRITE_MARKERS, 0, 0) + MARKER.pack(0, replica.key, 1, 0, 0, 0)
        worker.seat.readers[0].messages.append((REQUEST, memoryview(bytearray(body))))
    given = {request_id: error for request_id, error, _offset, _syncs in worker.cycle()}
    assert given == {1: ErrorCode.KAFKA_STORAGE_ERROR, 2: ErrorCode.NONE}
    assert (states(worker), worker.seat.mask) == ([RowState.OFFLINE, RowState.LEADER], 0)


def test_damage_that_a_truncation_meets_costs_no_directory(tmp_path):
    node = Node(tmp_path)
    view = view_of(("t", 4))
    node.replicas.follow(view)
    replica = node.replicas.by_slot[0]
    for _ in range(6):
        node.append(0)
    replica.take_role(view.topics["t"].partitions[0]._replace(leader=1, leader_epoch=1, replicas=(0, 1), isr=(0, 1)))
    replica.high_watermark = 2
    damage(replica, 3 * len(batch()))
    with pytest.raises(LogDamaged, match=r"truncation: .* no batch at byte") as failure:
        replica.truncate(5)
    assert replica.log.failure is failure.value
    replica.fail(failure.value)
    assert [one.state for one in node.replicas.by_slot.values()] == [RowState.OFFLINE] + 3 * [RowState.LEADER]
    assert node.seat.mask == 0
    assert replica.partition in node.replicas.failures.unclean


def test_nor_does_what_the_closed_files_of_an_offline_replica_refuse(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(view_of(("t", 2)))
    replica = node.replicas.by_slot[0]
    replica.fail(LogDamaged("injected"))
    with pytest.raises(StorageFailed, match="offline") as refusal:
        replica.append([batch()], NOW_MS)
    replica.fail(refusal.value)
    with pytest.raises(StorageFailed) as refusal:
        replica.log.append_as_leader([batch()], 0, NOW_MS)
    replica.fail(refusal.value)
    assert (node.seat.mask, node.replicas.by_slot[1].state) == (0, RowState.LEADER)
