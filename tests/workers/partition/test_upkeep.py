"""Deletions and swaps as the owner of a log decides them, and the housekeeper's side of the conversation."""

import errno
from dataclasses import replace

import pytest

from headrace.errors import ErrorCode, StorageExhausted
from headrace.ids import TopicPartition
from headrace.log.compaction.compaction_plan import Swap
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.retention import expired_segments
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, OFFSET_MAX, read_leader_epochs
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import REPLY, REPLY_HEADER, REQUEST_HEADER, UPKEEP_RESULT, ReplyStatus
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.expiry_clock import ExpiryClock
from headrace.workers.housekeeper.hosted import Hosted
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.quarantine import Quarantine
from headrace.workers.housekeeper.retention_scan import RetentionScan
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from headrace.workers.partition.replication.live_brokers import LiveBrokers
from headrace.workers.partition.replication.record_deletions import RecordDeletions
from headrace.workers.partition.segment_deletions import move_log_start
from headrace.workers.partition.upkeep import Upkeep
from tests.support.compaction_fixtures import compaction_of
from tests.support.fake_clock import NOW_MS
from tests.support.fake_date import FakeDate
from tests.support.log_fixtures import LogMaker, batch

OWNER = 1
SLOT, KEY = 4, 99
IN_FLIGHT_MAX = 2
NAME = TopicPartition("topic", 0)


class FakeTable:
    """Remembers the rows."""

    def __init__(self):
        self.rows = []

    def publish(self, slot, row):
        self.rows.append(row)

    def write(self, slot, *fields):
        self.publish(slot, PartitionRow(*fields))

    def recover_row(self, slot):
        return self.rows[-1], False


class FakeRing:
    """What the housekeeper writes goes to the owner's handlers at once; answers come with the next poll."""

    message_bytes_max = 1 << 16

    def __init__(self):
        self.requests = []
        self.answers = []
        self.is_full = False

    def write(self, kind, header, payload):
        if self.is_full:
            return False
        self.requests.append(bytes(header) + payload)
        return True

    def commit(self):
        pass

    def poll(self, limit):
        taken, self.answers = self.answers, []
        return taken

    def release(self):
        pass


class AskingSeat:
    def __init__(self):
        self.ring_to_owner = FakeRing()
        self.writers = self.readers = {OWNER: self.ring_to_owner}
        self.lost = frozenset()
        self.counters = type("Counters", (), {"add": lambda *_: None})()

    def changed(self):
        lost, self.lost = self.lost, frozenset()
        return lost

    def ring(self, process_id):
        pass

    def beat(self, now_ns):
        pass


class Pair:
    """A replica of 20 records in segments of a few, its owner's handlers, and the housekeeper that asks them."""

    def __init__(self, directory, config=None, disk=None):
        self.config = config or LogConfig(segment_bytes=1000)
        self.maker = LogMaker(directory)
        self.maker.disk = disk or self.maker.disk
        self.log = self.maker.open(self.config)
        for number in range(20):
            self.log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
        self.table = FakeTable()
        self.failures = []
        self.moved = ReplicaEvents()
        self.replica = Replica(
            NAME, self.log, SLOT, KEY, self.table, 1, 0, 20, self.moved, lambda *failed: self.failures.append(failed)
        )
        self.replica.state = RowState.LEADER
        self.replica.publish()
        self.moving = set()
        self.upkeep = Upkeep({SLOT: self.replica}, self.moving.__contains__, RecordDeletions(), LiveBrokers(0))
        self.seat = AskingSeat()
        self.mailbox = Mailbox(self.seat, in_flight_max=IN_FLIGHT_MAX)
        self.owners = Owners(self.mailbox)
        self.told = []

    @property
    def row(self):
        return self.table.rows[-1]

    def hosted(self, **changes):
        return Hosted(NAME, self.log.directory.parent, self.row._replace(**changes), self.config, SLOT, OWNER, "")

    def serve(self):
        """The owner handles what was asked; the housekeeper hears of it."""
        ring = self.seat.ring_to_owner
        for request in ring.requests:
            request_id, kind, version, _begun = REQUEST_HEADER.unpack_from(request)

            def reply(body, request_id=request_id):
                header = REPLY_HEADER.pack(request_id, ReplyStatus.ANSWERED, 0)
                ring.answers.append((REPLY, memoryview(header + body)))

            self.upkeep.handlers()[kind](version, memoryview(request)[REQUEST_HEADER.size :], reply)
            while self.upkeep.do_work():
                pass
        ring.requests.clear()
        self.take_answers()

    def take_answers(self):
        self.mailbox.poll([OWNER])

    def delete(self, bases, roll_before_ms=-1, **changes):
        assert self.owners.delete_segments(self.hosted(**changes), bases, roll_before_ms, self.told.append)
        self.serve()
        return self.told[-1]

    def delete_records(self, offset, version=2, partition=0):
        request = messages.DeleteRecordsRequest
        wanted = request.DeleteRecordsPartition(partition_index=partition, offset=offset)
        topics = [request.DeleteRecordsTopic(name="topic", partitions=[wanted])]
        body = encode_request(ApiKey.DELETE_RECORDS, version, request(topics=topics, timeout_ms=1000))
        answers = []
        self.upkeep.handlers()[ApiKey.DELETE_RECORDS](version, memoryview(body), answers.append)
        (one,) = decode_response(ApiKey.DELETE_RECORDS, version, answers[0]).topics[0].partitions
        return ErrorCode(one.error_code), one.low_watermark


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


def test_the_log_start_is_published_before_a_file_goes(pair):
    bases = list(pair.log.segment_bases)
    retire = pair.log.delete_segments

    def looked_at(count):
        assert pair.row.log_start_offset == bases[2]
        assert (pair.log.directory / f"{bases[0]:020d}.log").exists()
        retire(count)

    pair.log.delete_segments = looked_at
    assert pair.delete(bases[:2]) == ErrorCode.NONE
    assert pair.row.segments_version == pair.log.segments_version
    assert pair.log.segment_bases == bases[2:]


def test_no_file_goes_that_a_log_start_on_disk_is_not_beyond(pair):
    """Renames may be lost one by one: what is back must lie below the log start that the checkpoint tells."""
    bases = list(pair.log.segment_bases)
    for durable, left in ((-1, 0), (bases[1] - 1, 0), (bases[1], 1), (bases[2] + 1, 2), (OFFSET_MAX, 3)):
        assert pair.owners.delete_segments(pair.hosted(), bases[:3], -1, pair.told.append, durable_start=durable)
        pair.serve()
        assert pair.row.log_start_offset == bases[3], "it is for the checkpoint to tell"
        assert pair.log.segment_bases == bases[left:]
    assert pair.told == [ErrorCode.NONE] * 5


def test_the_active_segment_rolls_once_the_others_are_gone(pair):
    """It may need the room that they had."""
    bases = list(pair.log.segment_bases)
    for durable, left in ((-1, bases), (bases[-1], [bases[-1], 20]), (20, [20])):
        pair.owners.delete_segments(pair.hosted(), bases, NOW_MS + 20, pair.told.append, durable_start=durable)
        pair.serve()
        assert pair.log.segment_bases == left


def test_a_transaction_whose_beginning_was_deleted_holds_readers_at_the_start_of_the_log(pair):
    """Below it every fetch is out of range, and `latest` leads there again."""
    log = pair.log
    first = log.log_end_offset
    kind = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "attributes": TRANSACTIONAL_BIT}
    log.append_as_leader([batch(timestamp_ms=NOW_MS, **kind)], 0, NOW_MS)
    for _ in range(30):
        log.append_as_leader([batch(timestamp_ms=NOW_MS)], 0, NOW_MS)
    pair.replica.high_watermark = log.log_end_offset
    pair.replica.publish()
    assert pair.row.last_stable_offset == first
    following = next(base for base in log.segment_bases if base > first)
    assert pair.delete([base for base in log.segment_bases if base < following]) == ErrorCode.NONE
    assert pair.row.last_stable_offset == pair.row.log_start_offset == following


class FullDisk(Disk):
    """Takes no byte more, not even of a small file."""

    is_full = False

    def pwritev(self, fd, buffers, position):
        if self.is_full:
            raise OSError(errno.ENOSPC, "injected")
        return super().pwritev(fd, buffers, position)

    def fallocate(self, fd, position, size):
        if self.is_full:
            raise OSError(errno.ENOSPC, "injected")
        super().fallocate(fd, position, size)


@pytest.fixture(params=["append", "cut", "restart", "nothing"])
def full(request, tmp_path):
    """A pair whose disk has no room: its log is out of service where it has tried a write, or to cut itself."""
    pair = Pair(tmp_path, disk=FullDisk())
    pair.log.assign_leader_epoch(3)
    pair.log.append_as_leader([batch(timestamp_ms=NOW_MS)], 3, NOW_MS)
    pair.replica.high_watermark = 21
    pair.maker.disk.is_full = True
    tries = {
        "append": lambda: pair.log.append_as_leader([batch()], 3, NOW_MS),
        "cut": lambda: pair.log.truncate_to(18),
        "restart": lambda: pair.log.restart_at(100),
    }
    if request.param in tries:
        with pytest.raises(StorageExhausted):
            tries[request.param]()
    return pair


def test_retention_frees_a_disk_without_a_byte_left(full):
    bases = list(full.log.segment_bases)
    assert full.delete(bases[:2]) == ErrorCode.NONE
    assert full.delete(bases[2:3]) == ErrorCode.NONE
    assert full.log.segment_bases == bases[3:]
    assert (full.row.log_start_offset, full.log.epochs.entries) == (bases[3], [(0, bases[3]), (3, 20)])
    assert not list(full.log.directory.glob("*.tmp"))
    full.maker.disk.is_full = False
    full.log.abandon()  # killed: what the file of epochs says of the deleted part is forgotten again
    again = full.maker.open(full.config)
    assert again.epochs.entries == [(0, bases[3]), (3, 20)]
    assert (again.log_start_offset, again.log_end_offset) == (bases[3], 21)


def test_the_rolled_segments_go_though_the_active_one_can_not_roll(full):
    bases = list(full.log.segment_bases)
    full.delete(bases, NOW_MS + 10_000)
    assert full.log.segment_bases[0] == bases[-1]


def test_delete_records_needs_no_room(full):
    start = full.log.segment_bases[1] + 1
    assert full.upkeep._change(SLOT, KEY, lambda replica: move_log_start(replica, start)) == ErrorCode.NONE
    assert full.row.log_start_offset == start
    full.maker.disk.is_full = False
    if full.log.failure is None:
        full.log.flush()
        assert read_leader_epochs(full.log.directory / LEADER_EPOCH_FILE)[0] == (0, start)


def test_compaction_gives_room_to_a_log_that_has_none(full):
    full.config = replace(full.config, is_compacted=True)
    full.maker.disk.is_full = False  # for the housekeeper
    swap = next(step for step in compaction_of(full.log, full.config).steps() if isinstance(step, Swap))
    full.maker.disk.is_full = True
    assert full.log.swap_segments(swap.segments, full.log.segments_version)


def test_a_follower_without_room_deletes_what_its_leader_deleted(full):
    full.replica.is_full = True
    full.replica.follow(memoryview(b""), 21, 5, NOW_MS)
    assert full.row.log_start_offset == 5
    with pytest.raises(StorageExhausted):
        full.replica.follow(memoryview(bytes(batch())), 21, 7, NOW_MS)
    assert full.row.log_start_offset == 7


def test_a_deletion_asked_for_again_is_no_error_and_changes_nothing(pair):
    bases = list(pair.log.segment_bases)
    assert pair.delete(bases[:2]) == ErrorCode.NONE
    rows = len(pair.table.rows)
    assert pair.delete(bases[:2]) == ErrorCode.NONE
    assert len(pair.table.rows) == rows


def test_the_active_segment_rolls_first_and_only_if_all_of_it_is_older(pair):
    bases = list(pair.log.segment_bases)
    assert pair.delete(bases, NOW_MS + 19) == ErrorCode.NONE
    assert pair.log.segment_bases == bases[-1:]
    assert pair.delete(bases, NOW_MS + 20) == ErrorCode.NONE
    assert pair.log.segment_bases == [20]
    assert pair.row.log_start_offset == 20


def test_nothing_above_the_high_watermark_goes(pair):
    pair.replica.high_watermark = 10
    bases = list(pair.log.segment_bases)
    assert pair.delete(bases, 2**62) == ErrorCode.NONE
    assert pair.row.log_start_offset <= 10
    assert pair.log.segment_bases[1] > 10


@pytest.mark.parametrize(("changes", "error"), [({"key": KEY + 1}, ErrorCode.NOT_LEADER_OR_FOLLOWER)])
def test_a_slot_that_holds_another_partition_is_left_alone(pair, changes, error):
    bases = list(pair.log.segment_bases)
    assert pair.delete(bases, **changes) == error
    assert pair.log.segment_bases == bases


def test_an_offline_replica_is_left_alone(pair):
    pair.replica.state = RowState.OFFLINE
    assert pair.delete([0]) == ErrorCode.KAFKA_STORAGE_ERROR
    assert pair.log.segment_bases[0] == 0


def test_a_failing_disk_fails_the_replica(pair):
    def failing(source, target):
        raise OSError(errno.EIO, "injected")

    pair.maker.disk.rename = failing
    assert pair.delete([0]) == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(pair.failures) == 1


def test_a_swap_is_made_once_and_published(tmp_path):
    config = LogConfig(segment_bytes=1000, is_compacted=True)
    pair = Pair(tmp_path, config)
    hosted = pair.hosted()
    swap = next(
        step for step in compaction_of(pair.log, LogConfig(is_compacted=True)).steps() if isinstance(step, Swap)
    )
    pair.moving.add(SLOT)
    assert pair.owners.swap_segments(hosted, swap.segments, pair.told.append)
    pair.serve()
    assert pair.told.pop() == ErrorCode.REASSIGNMENT_IN_PROGRESS
    pair.moving.clear()
    assert pair.owners.swap_segments(hosted, swap.segments, pair.told.append)
    pair.serve()
    assert pair.row.segments_version > hosted.row.segments_version
    assert pair.owners.swap_segments(hosted, swap.segments, pair.told.append)
    pair.serve()
    assert pair.told == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert len(pair.log.segment_bases) == 2


@pytest.mark.parametrize("version", range(3))
def test_delete_records_answers_with_the_low_watermark(pair, version):
    assert pair.delete_records(7, version) == (ErrorCode.NONE, 7)
    assert pair.delete_records(3, version) == (ErrorCode.NONE, 7)
    assert pair.delete_records(-1, version) == (ErrorCode.NONE, 20)
    assert pair.row.log_start_offset == 20


def test_delete_records_is_refused_for_a_reason(pair):
    pair.replica.high_watermark = 10
    for offset in (11, 20, -2, 2**60):
        assert pair.delete_records(offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert pair.delete_records(1, partition=5) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    pair.log.config = LogConfig(deletes_segments=False, is_compacted=True)
    assert pair.delete_records(1) == (ErrorCode.POLICY_VIOLATION, -1)
    pair.log.config = LogConfig(is_compacted=True)
    assert pair.delete_records(1) == (ErrorCode.NONE, 1)
    pair.replica.state = RowState.FOLLOWER
    assert pair.delete_records(2) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_what_a_full_ring_does_not_take_waits_up_to_a_bound_and_a_lost_owner_is_said_so(pair):
    pair.seat.ring_to_owner.is_full = True
    for _ in range(IN_FLIGHT_MAX):
        assert pair.owners.delete_segments(pair.hosted(), [0], -1, pair.told.append)
    assert not pair.owners.delete_segments(pair.hosted(), [0], -1, pair.told.append)
    pair.seat.ring_to_owner.is_full = False
    pair.mailbox.flush()
    pair.mailbox.forget(OWNER)
    assert pair.told == [None] * IN_FLIGHT_MAX
    pair.serve()  # answers to questions that were given up
    assert pair.told == [None] * IN_FLIGHT_MAX


def test_an_owner_without_an_answer_is_no_answer(pair):
    assert pair.owners.delete_segments(pair.hosted(), [0], -1, pair.told.append)
    pair.seat.ring_to_owner.answers.append((REPLY, memoryview(REPLY_HEADER.pack(1, ReplyStatus.REFUSED, 0))))
    pair.seat.ring_to_owner.answers.append((77, memoryview(UPKEEP_RESULT.pack(0))))
    pair.take_answers()
    assert pair.told == [None]


@pytest.mark.parametrize("body", [b"", b"\0", bytes(3), UPKEEP_RESULT.pack(32_000)])
def test_an_answer_that_is_no_error_code_is_no_answer(pair, body):
    assert pair.owners.delete_segments(pair.hosted(), [0], -1, pair.told.append)
    header = REPLY_HEADER.pack(1, ReplyStatus.ANSWERED, 0)
    pair.seat.ring_to_owner.answers.append((REPLY, memoryview(header + body)))
    pair.take_answers()
    assert pair.told == [None]


class Replicas(list):
    def is_current(self, hosted):
        return True


def look(pair, config, policy=expired_segments, now_ms=NOW_MS + 1000):
    pair.config = config
    pair.log.config = replace(config, segment_bytes=pair.log.config.segment_bytes)  # its owner follows the same view
    pair.maker.clock.ms = now_ms
    quarantine = Quarantine(pair.maker.clock)
    clock, replicas = pair.maker.clock, Replicas([pair.hosted()])
    RetentionScan(
        pair.seat, clock, ExpiryClock(clock, FakeDate().steady), replicas, pair.owners, policy, quarantine,
        lambda _hosted: OFFSET_MAX, set,
    ).run()  # fmt: skip
    pair.serve()


def test_a_look_asks_for_what_has_expired(pair):
    bases = list(pair.log.segment_bases)
    look(pair, LogConfig())
    assert pair.log.segment_bases == bases
    look(pair, LogConfig(retention_ms=990))  # the oldest ten
    assert 5 < pair.log.log_start_offset <= 10
    look(pair, LogConfig(retention_ms=500))
    assert pair.log.segment_bases == [20]


def test_a_segment_that_rolled_since_the_look_goes_only_if_it_is_older_still(pair):
    """Between the look and the request it was the active one, and got a record."""
    pair.config = LogConfig(retention_ms=500)
    now_ms = pair.maker.clock.ms = NOW_MS + 1000
    hosted = pair.hosted()
    pair.log.config = replace(pair.config, segment_bytes=1 << 20)
    pair.log.append_as_leader([batch(timestamp_ms=now_ms)], 0, now_ms)
    young = pair.log.end_segment
    pair.log.roll_if_older(2**62)
    pair.replica.high_watermark = pair.log.log_end_offset
    bases = pair.log.segment_bases[:-1]
    assert bases[-1] == young == hosted.row.end_segment
    pair.owners.delete_segments(hosted, bases, now_ms - 500, pair.told.append)
    pair.serve()
    assert pair.log.segment_bases[0] == young
    pair.owners.delete_segments(hosted, [young], now_ms + 1, pair.told.append)
    pair.serve()
    assert pair.log.segment_bases[0] > young


@pytest.mark.parametrize(
    ("config", "rule"),
    [({"retention_ms": 990}, "retention.ms"), ({"retention_bytes": 0}, "retention.bytes")],
)
def test_the_log_says_by_which_rule_segments_went_and_how_young_they_were(pair, config, rule, caplog):
    caplog.set_level("INFO")
    look(pair, LogConfig(**config))
    line = next(record.getMessage() for record in caplog.records if "segments deleted" in record.getMessage())
    assert f"rule={rule}" in line
    youngest_ms = int(line.partition("largest_timestamp_ms=")[2])
    assert NOW_MS <= youngest_ms <= NOW_MS + 1000


def test_the_log_says_that_records_were_deleted(pair, caplog):
    caplog.set_level("INFO")
    pair.log.advance_log_start(pair.log.segment_bases[2])
    pair.replica.publish()
    look(pair, LogConfig())
    assert "rule=log start offset" in caplog.text


def test_retention_of_nothing_leaves_an_empty_log(pair):
    look(pair, LogConfig(retention_bytes=0))
    assert pair.log.segment_bases == [20]
    look(pair, LogConfig(retention_bytes=0))
    assert pair.log.segment_bases == [20]


@pytest.mark.parametrize("answer", [[5], [999], [0, 0, 0], "raise"])
def test_a_policy_of_ones_own_cannot_do_harm(pair, answer):
    def policy(segments, config, log_start_offset, now_ms):
        if answer == "raise":
            raise RuntimeError("somebody else's bug")
        return answer

    bases = list(pair.log.segment_bases)
    look(pair, LogConfig(), policy)
    assert pair.log.segment_bases == (bases[1:] if answer == [0, 0, 0] else bases)
    assert isinstance(pair.row, PartitionRow)


def test_a_base_offset_that_stands_for_other_records_since_is_not_deleted(tmp_path):
    """The scan saw one expired segment. The swap that was asked for before has made one of all of them."""
    config = LogConfig(segment_bytes=1000, is_compacted=True, deletes_segments=True)
    pair = Pair(tmp_path, config)
    hosted = pair.hosted()
    first = pair.log.segment_bases[:1]
    swap = next(
        step for step in compaction_of(pair.log, LogConfig(is_compacted=True)).steps() if isinstance(step, Swap)
    )
    assert len(swap.segments) > 1
    assert pair.owners.swap_segments(hosted, swap.segments, pair.told.append)
    assert pair.owners.delete_segments(hosted, first, NOW_MS, pair.told.append)
    pair.serve()
    assert pair.told == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert pair.log.log_start_offset == 0
    assert pair.delete(first) == ErrorCode.NONE, "looked at since"


def test_what_grew_again_after_a_cut_is_not_deleted_as_what_was_there(pair):
    hosted = pair.hosted()
    bases = list(pair.log.segment_bases)
    pair.log.truncate_to(bases[1])
    for number in range(10):
        pair.log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
    pair.replica.publish()
    assert pair.owners.delete_segments(hosted, bases[:2], NOW_MS, pair.told.append)
    pair.serve()
    assert pair.told == [ErrorCode.INVALID_REQUEST]
