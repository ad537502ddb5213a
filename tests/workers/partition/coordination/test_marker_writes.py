"""Markers into logs that are led here: answered once they are committed, and after the groups have them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode as E
from headrace.errors import LogDamaged, costs_directory
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.protocol.control_record import EndMarker
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, build_batch
from headrace.shm.messages import MARKER, MARKER_RESULT, RequestKind
from headrace.shm.partition_table import RowState
from headrace.workers.partition.coordination.marker_writes import MarkerWrites
from headrace.workers.partition.replicas.replica import Replica
from tests.workers.partition.host_rig import NODE, Rig

PRODUCER = (7, 2)
KEY = 9


class Writes(MarkerWrites):
    """Of one replica: that of a rig, with its group host or without."""

    def __init__(self, rig, *, of_groups):
        self.clock_ms = 0
        hosts = [rig.host] if of_groups else []
        clock = SimpleNamespace(now_ms=lambda: rig.logs.clock.ms, monotonic_ns=lambda: self.clock_ms * 1_000_000)
        super().__init__({3: rig.replica}, hosts, clock)
        self.errors = []

    def end(self, *, epoch=2, coordinator_epoch=0, is_abort=False, key=KEY):
        self.write(3, key, EndMarker(7, epoch, coordinator_epoch, is_abort), self.errors.append)
        return self.errors


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


@pytest.fixture
def writes(rig):
    return Writes(rig, of_groups=False)


def begin(rig):
    batch = build_batch(
        [(b"k", b"v")], timestamp_ms=rig.logs.clock.ms, producer_id=7, producer_epoch=2, base_sequence=0,
        attributes=TRANSACTIONAL_BIT,
    )  # fmt: skip
    ((error, _offset, _time),) = rig.replica.append([memoryview(bytearray(batch))], rig.logs.clock.ms)
    assert not error


def replicated(rig):
    """Another replica is in sync, and has nothing yet."""
    rig.lead(isr=(NODE, 1))
    rig.replica.followers = SimpleNamespace(committed=lambda end: rig.replica.high_watermark, minimum=1)


def test_a_marker_that_is_committed_is_answered_at_once(rig, writes):
    begin(rig)
    assert rig.replica.log.producers.last_stable_offset(1) == 0
    assert writes.end() == [E.NONE]
    assert rig.replica.log.producers.last_stable_offset(2) == 2


def test_the_same_marker_again_changes_nothing(rig, writes):
    begin(rig)
    assert writes.end() == [E.NONE]
    assert writes.end() == [E.NONE, E.NONE]


def test_a_marker_waits_for_the_replicas(rig, writes):
    replicated(rig)
    assert writes.end() == []
    rig.replica.high_watermark = 1
    writes.check(rig.replica)
    assert writes.errors == [E.NONE]
    assert not writes.waiting


def test_a_marker_that_waits_for_too_long_is_sent_again(rig, writes):
    replicated(rig)
    writes.end()
    writes.clock_ms = 60_000
    writes.expire()
    assert writes.errors == [E.REQUEST_TIMED_OUT]
    assert not writes.waiting


@pytest.mark.parametrize("change", ["deposed", "another epoch"])
def test_a_marker_that_another_leader_may_truncate_is_not_written(rig, writes, change):
    replicated(rig)
    writes.end()
    if change == "deposed":
        rig.replica.state = RowState.FOLLOWER
    else:
        rig.replica.leader_epoch += 1
    rig.replica.high_watermark = 1
    writes.follow_role(rig.replica)
    assert writes.errors == [E.NOT_LEADER_OR_FOLLOWER]


@pytest.mark.parametrize(
    ("marker", "error"),
    [({"epoch": 1}, E.INVALID_PRODUCER_EPOCH), ({"coordinator_epoch": -1}, E.TRANSACTION_COORDINATOR_FENCED)],
)
def test_what_a_later_producer_or_coordinator_ended_is_refused(rig, writes, marker, error):
    begin(rig)
    writes.end(coordinator_epoch=0)
    assert writes.end(**marker) == [E.NONE, error]


def test_a_partition_that_is_not_here_or_has_too_few_replicas_is_asked_again(rig, writes):
    assert writes.end(key=KEY + 1) == [E.NOT_LEADER_OR_FOLLOWER]
    rig.replica.min_insync_replicas = 2
    assert writes.end()[-1] is E.NOT_ENOUGH_REPLICAS
    rig.replica.state = RowState.FOLLOWER
    assert writes.end()[-1] is E.NOT_LEADER_OR_FOLLOWER


def test_a_full_disk_is_asked_again_and_no_failure(rig, writes):
    rig.replica.is_full = True
    assert writes.end() == [E.NOT_ENOUGH_REPLICAS]
    assert rig.replica.state is RowState.LEADER


def test_a_request_is_answered_when_its_last_marker_is(rig, writes):
    replicated(rig)
    replies = []
    rows = MARKER.pack(3, KEY, 7, 0, 2, 0) + MARKER.pack(3, KEY + 1, 7, 0, 2, 0)
    writes.handlers()[RequestKind.WRITE_MARKERS](0, memoryview(rows), replies.append)
    assert not replies
    rig.replica.high_watermark = 1
    writes.check(rig.replica)
    assert list(MARKER_RESULT.iter_unpack(replies[0])) == [(0,), (int(E.NOT_LEADER_OR_FOLLOWER),)]


@pytest.mark.parametrize("of_groups", [False, True])
def test_the_markers_of_a_request_cost_one_sync_and_one_row_of_each_log(rig, of_groups, monkeypatch):
    """In a topic with `headrace.flush.before.ack`: a coordinator's request may have thousands of them."""
    rig.load()
    rig.replica.log.config = replace(rig.replica.log.config, flush_before_ack=True)
    writes = Writes(rig, of_groups=of_groups)
    begin(rig)
    done, replies = [], []
    flush, publish = PartitionLog.flush_before_answer, Replica.publish
    monkeypatch.setattr(PartitionLog, "flush_before_answer", lambda log: (done.append("sync"), flush(log)))
    monkeypatch.setattr(Replica, "publish", lambda replica: (done.append("row"), publish(replica)))
    rows = b"".join(MARKER.pack(3, KEY, producer_id, 0, 2, 0) for producer_id in range(5, 55))
    rows += MARKER.pack(3, KEY, 7, 0, 1, 0) + MARKER.pack(3, KEY + 1, 7, 0, 2, 0)
    writes.handlers()[RequestKind.WRITE_MARKERS](0, memoryview(rows), replies.append)
    rig.host.do_work()
    assert done == ["sync", "row"]
    errors = [one for (one,) in MARKER_RESULT.iter_unpack(replies[0])]
    assert errors == 50 * [0] + [int(E.INVALID_PRODUCER_EPOCH), int(E.NOT_LEADER_OR_FOLLOWER)]
    assert rig.replica.log.recovery_point == rig.replica.log.log_end_offset


# In `__consumer_offsets`


def commit_in_transaction(rig, offset):
    request = messages.TxnOffsetCommitRequest
    rows = [request.TxnOffsetCommitRequestTopic("t", [request.TxnOffsetCommitRequestPartition(0, offset)])]
    message = request(transactional_id="x", group_id="g", producer_id=7, producer_epoch=2, topics=rows)
    got = []
    rig.handlers[ApiKey.TXN_OFFSET_COMMIT](
        3, memoryview(encode_request(ApiKey.TXN_OFFSET_COMMIT, 3, message)), got.append
    )
    rig.host.do_work()
    return got


@pytest.mark.parametrize("is_abort", [False, True])
def test_offsets_count_when_their_marker_is_answered(rig, is_abort):
    rig.load()
    writes = Writes(rig, of_groups=True)
    assert len(commit_in_transaction(rig, 41)) == 1
    assert rig.committed() == -1
    assert writes.end(is_abort=is_abort) == []
    rig.host.do_work()
    assert writes.errors == [E.NONE]
    assert rig.committed() == (-1 if is_abort else 41)


def test_a_marker_comes_after_the_offsets_that_are_to_be_written(rig):
    """Both come in one cycle: the marker does not overtake the commit that its transaction has acknowledged."""
    rig.load()
    writes = Writes(rig, of_groups=True)
    request = messages.TxnOffsetCommitRequest
    rows = [request.TxnOffsetCommitRequestTopic("t", [request.TxnOffsetCommitRequestPartition(0, 41)])]
    message = request(transactional_id="x", group_id="g", producer_id=7, producer_epoch=2, topics=rows)
    rig.handlers[ApiKey.TXN_OFFSET_COMMIT](
        3, memoryview(encode_request(ApiKey.TXN_OFFSET_COMMIT, 3, message)), lambda _body: None
    )
    writes.end()
    rig.host.do_work()
    assert writes.errors == [E.NONE]
    assert rig.committed() == 41


def test_a_marker_of_a_coordinator_that_is_unloaded_is_sent_again(rig):
    rig.load()
    writes = Writes(rig, of_groups=True)
    replicated(rig)
    writes.end()
    rig.host.do_work()
    assert writes.errors == []
    rig.replica.state = RowState.FOLLOWER
    rig.host.follow_role(rig.replica)
    assert writes.errors == [E.NOT_LEADER_OR_FOLLOWER]


def test_a_marker_after_offsets_that_took_the_replica_out_costs_no_directory(rig, monkeypatch):
    rig.load()
    failures = []
    monkeypatch.setattr(Replica, "append", refuse_append)
    monkeypatch.setattr(Replica, "fail", lambda replica, failure: (failures.append(failure), take_out(replica)))
    writes = Writes(rig, of_groups=True)
    request = messages.TxnOffsetCommitRequest
    rows = [request.TxnOffsetCommitRequestTopic("t", [request.TxnOffsetCommitRequestPartition(0, 41)])]
    message = request(transactional_id="x", group_id="g", producer_id=7, producer_epoch=2, topics=rows)
    rig.handlers[ApiKey.TXN_OFFSET_COMMIT](
        3, memoryview(encode_request(ApiKey.TXN_OFFSET_COMMIT, 3, message)), lambda _body: None
    )
    writes.end()
    assert writes.errors == [E.KAFKA_STORAGE_ERROR]
    assert len(failures) == 2
    assert not any(costs_directory(one) for one in failures)


def refuse_append(*_args):
    raise LogDamaged("injected")


def take_out(replica):
    replica.state = RowState.OFFLINE
