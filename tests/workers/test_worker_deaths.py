"""A partition worker is killed before every line of what it does between a request and its answer.

The child works on files and rows that its parent made; what it answered comes through a pipe. Then a reader goes by the
row that it left, and a successor takes over.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode
from headrace.ids import OFFSETS_TOPIC
from headrace.log.compaction.compaction_plan import Swap
from headrace.log.reading.reader import LogReader
from headrace.log.segments import index_file, offset_index, segment, segment_deletion, segment_swap, time_index
from headrace.log.writing import leader_append, log_tail, partition_log, segment_list, sync_state
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from headrace.shm import partition_table
from headrace.shm.messages import CLIENT_HEADER, SWAP_SEGMENTS_HEADER, SWAPPED_SEGMENT, UPKEEP_RESULT, RequestKind
from headrace.shm.region import SHM_DIRECTORY
from headrace.workers.partition import upkeep
from headrace.workers.partition.coordination import coordinator_host
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.group_requests import GroupRequests
from headrace.workers.partition.coordination.groups import Groups
from headrace.workers.partition.coordination.known_topics import KnownTopics
from headrace.workers.partition.replicas import replica
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from headrace.workers.partition.replication.record_deletions import RecordDeletions
from headrace.workers.partition.upkeep import Upkeep
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.compaction_fixtures import compaction_of
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import FakeSeat, view_of
from tests.support.stepping import die_at, steps
from tests.workers.coordinators.group.group_fixtures import lag_table

pytestmark = pytest.mark.process

APPEND = (partition_log, leader_append, log_tail, segment_list, sync_state)  # what a client's batch goes through
KILL_EVERY = int(os.environ.get("KILL_EVERY", "4"))  # make heavy: 1
SLOT = 0
SESSION_MS = 10_000


class Worker:
    """A partition worker over one directory; `successor` is the next life of it."""

    def __init__(self, path, view, seat=None):
        self.path = path
        path.mkdir(exist_ok=True)
        self.view = view
        self.seat = seat or FakeSeat([path], {"group.initial.rebalance.delay.ms": "0"})
        self.clock = FakeClock()
        self.replicas = AnsweredReplicas(self.seat, 0, self.clock)
        self.replicas.follow(view)

    @property
    def replica(self):
        return self.replicas.by_slot[SLOT]

    @property
    def row(self):
        return self.seat.partitions.read(SLOT)

    def let_go(self):
        """The descriptors of a worker that is dead, or only a child goes on with."""
        for one in self.replicas.by_slot.values():
            one.log.abandon()

    def successor(self):
        self.let_go()
        return type(self)(self.path, self.view, self.seat.restarted())

    def batches(self):
        log = self.replica.log
        found = []
        for base in log.segment_bases:
            data = (log.directory / f"{base:020d}.log").read_bytes()
            end = log.end_position if base == log.end_segment else len(data)
            found += [(header, list(iterate_records(whole))) for _place, header, whole in iterate_batches(data[:end])]
        return found

    def records(self):
        return [record for _header, records in self.batches() for record in records]


def records_by_row(directory, row):
    """What a network worker finds by a row, offset by offset."""
    reader = LogReader(directory)
    reader.refresh(row.segments_version)
    found, offset = {}, row.log_start_offset
    while offset < row.high_watermark:
        bytes_found = reader.locate(offset, 1 << 20, row.hw_segment, row.hw_position, True)
        if bytes_found is None:
            break
        data = os.pread(bytes_found.fd, bytes_found.length, bytes_found.position)
        for _place, header, whole in iterate_batches(data):
            found.update((record.offset, record.value) for record in iterate_records(whole))
            offset = max(offset, header.last_offset + 1)
    reader.close()
    return found


class Pipe:
    """What a child told before it died, in order, each as a tuple."""

    def __init__(self):
        self.out, self.into = os.pipe()

    def tell(self, *what):
        os.write(self.into, json.dumps(what).encode() + b"\n")

    def told(self):
        os.close(self.into)
        with open(self.out, "rb") as file:
            return [tuple(json.loads(line)) for line in file]


def deaths(make, act, modules):
    """(step, worker as it was made, what was told), for a kill before each line of `modules`, or each KILL_EVERY-th; at last for none."""
    for step in steps():
        if step % KILL_EVERY:
            continue
        worker, pipe = make(step), Pipe()
        has_finished = die_at(step, lambda worker=worker, pipe=pipe: act(worker, pipe), modules, "line")
        yield step, worker, pipe.told()
        shutil.rmtree(worker.path)
        if has_finished:
            return


@pytest.fixture
def memory_path():
    """A directory in memory: a death of the process loses no more of a disk's, and thousands of logs need not wait for one."""
    with tempfile.TemporaryDirectory(prefix="headrace-test-", dir=SHM_DIRECTORY) as path:
        yield Path(path)


# Groups: append, publish, answer


class GroupWorker(Worker):
    def __init__(self, path, view, seat=None):
        super().__init__(path, view, seat)
        self.seat.lags = lag_table(8)
        answers = SimpleNamespace(advanced=lambda worker, slot: None, flush=lambda: 0)
        topics = KnownTopics()
        self.host = CoordinatorHost(Groups(self.seat), topics, self.seat, answers, self.replicas.by_slot, self.clock.ms)
        self.host.follow(topics.follow(view))
        self.handlers = GroupRequests(self.host).handlers()
        while self.host.by_partition[0].coordinator.is_loading:
            self.host.do_work()

    @property
    def group(self):
        return self.host.by_partition[0].coordinator.groups.get("g")

    def ask(self, key, version, request, pipe, prefix=b"", tell=lambda answer: ()):
        """The answer, once it was told."""
        answers = []

        def reply(response):
            answer = decode_response(key, version, memoryview(response))
            answers.append(answer)
            pipe.tell(ApiKey(key).name, *tell(answer))

        self.handlers[key](version, memoryview(prefix + encode_request(key, version, request)), reply)
        self.host.do_work()
        return answers[0]

    def commit(self, offset, pipe, member_id="", generation=-1):
        row = messages.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = messages.OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            topics=[messages.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[row])],
        )
        return self.ask(
            ApiKey.OFFSET_COMMIT,
            7,
            request,
            pipe,
            tell=lambda answer: (answer.topics[0].partitions[0].error_code, offset),
        )

    def committed(self):
        error, found = self.host.by_partition[0].coordinator.fetch("g", [("t", [0])], False)
        assert not error
        return found["t"][0][1].offset


def live_a_groups_life(worker, pipe):
    """Two commits from outside, a member that joins, syncs and commits."""
    worker.commit(1, pipe)
    worker.commit(2, pipe)
    join = messages.JoinGroupRequest
    joined = worker.ask(
        ApiKey.JOIN_GROUP,
        3,
        join(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            protocol_type="consumer",
            protocols=[join.JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
        pipe,
        CLIENT_HEADER.pack(1, 1) + b"c/",
        lambda answer: (answer.error_code, answer.member_id, answer.generation_id),
    )
    member_id, generation = joined.member_id, joined.generation_id
    sync = messages.SyncGroupRequest
    mine = sync.SyncGroupRequestAssignment(member_id=member_id, assignment=b"mine")
    worker.ask(
        ApiKey.SYNC_GROUP,
        3,
        sync(group_id="g", generation_id=generation, member_id=member_id, assignments=[mine]),
        pipe,
        tell=lambda answer: (answer.error_code, answer.assignment.decode()),
    )
    worker.commit(3, pipe, member_id, generation)


def test_a_worker_killed_between_append_publication_and_answer_of_a_group_loses_nothing_it_answered(memory_path):
    view = view_of((OFFSETS_TOPIC, 1), ("t", 1))
    modules = [coordinator_host, *APPEND, segment, replica, partition_table]
    outcomes = set()
    for step, dead, told in deaths(
        lambda step: GroupWorker(memory_path / str(step), view), live_a_groups_life, modules
    ):
        assert not any(code for _what, code, *_rest in told), (step, told)
        row, _is_torn = dead.seat.partitions.recover_row(SLOT)
        heir = dead.successor()
        committed = [offset for what, _code, offset, *_rest in told if what == "OFFSET_COMMIT"]
        least = max(committed, default=-1)
        found = heir.committed()
        assert found in {-1: (-1, 1), 1: (1, 2), 2: (2, 3), 3: (3,)}[least], (step, told)
        assert heir.row.high_watermark == heir.row.log_end_offset >= row.high_watermark, step
        assert [record.offset for record in heir.records()] == list(range(heir.row.log_end_offset)), step
        names = [what for what, *_rest in told]
        if "SYNC_GROUP" in names:
            _what, _code, member_id, generation = told[names.index("JOIN_GROUP")]
            assert (heir.group.state.value, heir.group.generation) == ("Stable", generation), step
            assert heir.group.members[member_id].assignment == b"mine", step
        elif heir.group is not None and heir.group.members:  # stored, not answered: it may be believed, and whole
            assert heir.group.state.value == "Stable"
            assert [member.assignment for member in heir.group.members.values()] == [b"mine"]
        pipe = Pipe()
        (member_id, generation) = ("", -1)
        if heir.group is not None and heir.group.members:
            (member_id,), generation = heir.group.members, heir.group.generation
        heir.commit(9, pipe, member_id, generation)
        assert pipe.told() == [("OFFSET_COMMIT", 0, 9)], step
        assert heir.committed() == 9
        outcomes.add((len(told), found))
        heir.let_go()
    assert {count for count, _found in outcomes} == {0, 1, 2, 3, 4, 5}, "the kills hit every stage"
    assert {(0, 1), (1, 2), (4, 3)} <= outcomes, "some came between the append and the answer"


# A segment rolls


ROLLING = {"segment.bytes": "700", "index.interval.bytes": "100"}


def append_over_a_roll(worker, pipe):
    """Batches one by one, answered once they are published, as `append.py` does."""
    replica = worker.replica
    for _ in range(5):
        number = replica.log.log_end_offset
        data = build_batch([(None, b"%04d" % number * 50)], timestamp_ms=NOW_MS + number)
        ((error, base_offset, _time),) = replica.append([memoryview(bytearray(data))], NOW_MS)
        assert not error
        replica.advance_high_watermark()
        replica.publish()
        pipe.tell(base_offset)


def test_a_worker_killed_while_a_segment_rolls_loses_nothing_it_answered(memory_path):
    modules = [*APPEND, segment, index_file, offset_index, time_index, replica, partition_table]
    outcomes = set()
    for step, dead, told in deaths(
        lambda step: Worker(memory_path / str(step), view_of(("t", 1, ROLLING))), append_over_a_roll, modules
    ):
        row = dead.row
        directory = dead.replica.log.directory
        if row is not None:
            assert row.high_watermark >= len(told), step
            by_row = records_by_row(directory, row)
            assert by_row == {n: b"%04d" % n * 50 for n in range(row.high_watermark)}, step
        published, _is_torn = dead.seat.partitions.recover_row(SLOT)
        heir = dead.successor()
        end = heir.row.log_end_offset
        assert len(told) <= end <= len(told) + 1, step
        assert published.high_watermark <= heir.row.high_watermark == end, step
        assert [record.value for record in heir.records()] == [b"%04d" % n * 50 for n in range(end)], step
        pipe = Pipe()
        append_over_a_roll(heir, pipe)
        assert pipe.told() == [(end + n,) for n in range(5)], step
        assert records_by_row(directory, heir.row) == {n: b"%04d" % n * 50 for n in range(end + 5)}, step
        outcomes.add((len(told), end, len(heir.replica.log.segment_bases) > 1))
        heir.let_go()
    assert {(count, end) for count, end, _rolled in outcomes} >= {(n, n) for n in range(6)} | {
        (n, n + 1) for n in range(5)
    }
    assert heir.replica.log.segment_bases != [0]


# Compacted segments go in


COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "400", "index.interval.bytes": "100"}
KEYS = 3


def swapping_worker(path):
    """A log of some segments, its compaction written and not swapped."""
    worker = Worker(path, view_of(("t", 1, COMPACTED)))
    log = worker.replica.log
    for number in range(12):
        data = build_batch([(b"%d" % (number % KEYS), b"%04d" % number * 20)], timestamp_ms=NOW_MS)
        log.append_as_leader([memoryview(bytearray(data))], 0, NOW_MS)
    worker.replica.advance_high_watermark()
    worker.replica.publish()
    worker.before = {record.offset: record.value for record in worker.records()}
    steps_of = compaction_of(log, log.config).steps()
    worker.swap = next(step for step in steps_of if isinstance(step, Swap))
    return worker


def swap(worker, pipe):
    handlers = Upkeep(worker.replicas.by_slot, lambda slot: False, RecordDeletions(), LiveBrokers(0)).handlers()
    body = SWAP_SEGMENTS_HEADER.pack(SLOT, worker.replica.key, worker.replica.log.segments_version)
    body += b"".join(SWAPPED_SEGMENT.pack(base, size) for base, size in worker.swap.segments)
    handlers[RequestKind.SWAP_SEGMENTS](0, memoryview(body), lambda answer: pipe.tell(*UPKEEP_RESULT.unpack(answer)))


def test_a_worker_killed_while_compacted_segments_go_in_leaves_the_log_as_it_was_or_as_it_is_to_be(memory_path):
    modules = [upkeep, segment_swap, segment_deletion, partition_log, segment_list, replica, partition_table]
    reference = swapping_worker(memory_path / "reference")
    swap(reference, Pipe())
    after = {record.offset: record.value for record in reference.records()}
    assert len(after) < len(reference.before)
    outcomes = set()
    for step, dead, told in deaths(lambda step: swapping_worker(memory_path / str(step)), swap, modules):
        assert told in ([], [(ErrorCode.NONE,)]), step
        row = dead.row
        if row is not None:
            found = records_by_row(dead.replica.log.directory, row)
            assert found.items() >= after.items(), step
            assert found.items() <= dead.before.items(), step
        heir = dead.successor()
        found = {record.offset: record.value for record in heir.records()}
        assert found in (dead.before, after), step
        assert found == after or not told, step
        assert records_by_row(heir.replica.log.directory, heir.row) == found, step
        assert (heir.row.log_end_offset, heir.row.high_watermark) == (12, 12), step
        assert not list(heir.replica.log.directory.glob("*.swap*")), step
        outcomes.add((len(told), found == after))
        heir.let_go()
    assert outcomes == {(0, False), (0, True), (1, True)}
