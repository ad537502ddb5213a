"""From the rings to the answers: what is refused with which error, and that nothing is acknowledged before it is synced."""

import errno
from pathlib import Path

import pytest

from headrace.errors import CorruptRing, ErrorCode
from headrace.limits import PRODUCE_IN_FLIGHT_MAX, REFUSED_PRODUCER_MS, REFUSED_PRODUCERS_MAX
from headrace.runtime.mailbox import Mailbox
from headrace.shm.arena import Arena
from headrace.shm.layout import ARENA_DATA
from headrace.shm.messages import (
    AFTER_REFUSAL,
    PRODUCE,
    PRODUCE_AT,
    PRODUCE_HEADER,
    PRODUCE_PART,
    PRODUCE_PART_HEADER,
    PRODUCE_PLACE,
)
from headrace.shm.region import Region
from headrace.workers.partition.append import Appender
from headrace.workers.partition.intake import Intake
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.refused_producers import RefusedProducers
from headrace.workers.partition.replication.isr import IsrKeeper
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import FakeSeat, view_of
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import batch


class Reader:
    def __init__(self):
        self.messages = []

    def poll(self, limit, bytes_max=0):
        taken, self.messages = self.messages[:limit], self.messages[limit:]
        return taken

    def release(self):
        return False


class Answers:
    """Remembers how many syncs there had been when each answer was given."""

    def __init__(self, disk):
        self.disk = disk
        self.given = []

    def is_congested(self, process_id):
        return False

    def result(self, process_id, request_id, index, error, base_offset, append_time_ms, log_start_offset):
        self.given.append((request_id, int(error), base_offset, self.disk.calls.count("fdatasync")))

    def refuse(self, process_id, request_id, index, error):
        self.result(process_id, request_id, index, error, -1, -1, -1)


class Worker:
    def __init__(self, path, view, **settings):
        self.view = view
        self.disk = FaultyDisk()
        self.seat = FakeSeat([path], settings)
        self.seat.readers = {0: Reader()}
        self.replicas = AnsweredReplicas(self.seat, 0, FakeClock(), self.disk)
        self.replicas.follow(view)
        self.answers = Answers(self.disk)
        purgatory = ProducePurgatory(self.answers)
        appender = Appender(self.seat, self.replicas, self.answers, purgatory)
        self.seat.writers = {}
        self.seat.readers |= {peer: Reader() for peer in self.seat.wiring.targets(self.seat.process_id) if peer}
        mailbox = Mailbox(self.seat)
        isr = IsrKeeper(self.replicas.by_slot, self.replicas.live, mailbox, self.seat.wiring.controller_id, id)
        self.intake = Intake(self.seat, self.answers, appender, mailbox, isr)
        self._next_id = 0

    def send(self, topic, acks=1, flags=0, **producer):
        (partition,) = self.view.topics[topic].partitions
        self._next_id += 1
        header = PRODUCE_HEADER.pack(self._next_id, partition.slot, partition.key, 0, 1000, acks, 9 | flags, 0)
        self.seat.readers[0].messages.append((PRODUCE, memoryview(bytearray(header + bytes(batch(**producer))))))

    def errors(self, topic, *sequences, **more):
        """What batches of one producer come to in one cycle."""
        for sequence in sequences:
            self.send(topic, producer_id=7, producer_epoch=0, base_sequence=sequence, **more)
        return [ErrorCode(error) for _id, error, _offset, _syncs in sorted(self.cycle())]

    def cycle(self):
        self.intake.do_work(NOW_MS, NOW_MS)
        given, self.answers.given = self.answers.given, []
        return given


@pytest.fixture
def worker(tmp_path):
    return Worker(tmp_path, view_of(("plain", 1), ("kept", 1, {"headrace.flush.before.ack": "true"})))


def test_one_sync_a_cycle_and_replica_comes_before_the_answers(worker):
    for _ in range(5):
        worker.send("kept")
        worker.send("plain")
    syncs = worker.disk.calls.count("fdatasync")
    given = sorted(worker.cycle())
    assert worker.disk.calls.count("fdatasync") == syncs + 1
    assert [(request_id, error) for request_id, error, _offset, _syncs in given] == [
        (number, 0) for number in range(1, 11)
    ]
    assert all(at == syncs + 1 for request_id, _error, _offset, at in given if request_id % 2)
    assert worker.replicas.by_slot[1].log.recovery_point == 5
    assert worker.replicas.by_slot[0].log.recovery_point == 0


def test_the_setting_of_the_node_holds_for_its_topics(tmp_path):
    worker = Worker(tmp_path, view_of(("plain", 1)), **{"headrace.flush.before.ack": "true"})
    worker.send("plain", acks=-1)
    assert [one[:3] for one in worker.cycle()] == [(1, 0, 0)]
    assert worker.replicas.by_slot[0].log.recovery_point == 1


def test_nothing_is_acknowledged_or_readable_that_could_not_be_synced(worker):
    worker.send("kept")
    worker.cycle()
    worker.disk.only = ("fdatasync",)
    worker.disk.calls.clear()
    worker.disk.fail_at, worker.disk.error = 0, errno.EIO
    worker.send("kept")
    worker.send("plain")
    given = {request_id: error for request_id, error, _offset, _syncs in worker.cycle()}
    assert given[2] == ErrorCode.KAFKA_STORAGE_ERROR
    row = worker.seat.partitions.read(1)
    assert row.high_watermark == 1
    worker.send("kept")
    worker.send("plain")
    assert {error for _id, error, _offset, _syncs in worker.cycle()} == {int(ErrorCode.KAFKA_STORAGE_ERROR)}
    assert worker.disk.calls.count("fdatasync") == 1  # never again


def test_a_full_directory_answers_storage_error_and_a_strange_slot_not_leader(worker):
    worker.replicas.by_slot[0].is_full = True
    worker.send("plain")
    worker.view.topics["plain"] = worker.view.topics["plain"]._replace(
        partitions=(worker.view.topics["plain"].partitions[0]._replace(key=77),)
    )
    worker.send("plain")
    assert [one[1] for one in worker.cycle()] == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR]


def test_free_space_is_looked_at_in_time_however_fast_it_goes(worker):
    """Not only each DIRECTORY_CHECK_INTERVAL_MS: the clock stands still here."""
    bound = worker.seat.wiring.settings["headrace.log.dir.free.bytes.min"]
    log = worker.replicas.by_slot[0].log
    worker.disk.free_bytes = lambda _path: bound + 2_000 - log.size_bytes
    errors = []
    for _ in range(40):
        worker.send("plain")
        errors += [error for _id, error, _offset, _syncs in worker.cycle()]
    assert errors[0] == 0
    assert errors[-1] == ErrorCode.KAFKA_STORAGE_ERROR
    assert log.size_bytes <= 2_000 + 200


def test_a_batch_is_appended_from_where_its_network_worker_received_it(worker):
    arena = worker.seat.arenas[0] = Arena(Region.private(ARENA_DATA + 4096))
    content = bytes(batch())
    arena.memory[100 : 100 + len(content)] = content
    (partition,) = worker.view.topics["plain"].partitions
    header = PRODUCE_HEADER.pack(5, partition.slot, partition.key, 0, 1000, 1, 9, 0)
    message = header + PRODUCE_PLACE.pack(100, len(content))
    worker.seat.readers[0].messages.append((PRODUCE_AT, memoryview(bytearray(message))))
    worker.send("plain")
    assert [one[:3] for one in worker.cycle()] == [(5, 0, 0), (1, 0, 1)]


def test_batches_in_an_arena_are_taken_a_mebibyte_in_a_cycle(worker):
    arena = worker.seat.arenas[0] = Arena(Region.private(ARENA_DATA + (8 << 20)))
    content = bytes(batch(size=200 << 10))
    (partition,) = worker.view.topics["plain"].partitions
    for number in range(30):
        header = PRODUCE_HEADER.pack(number, partition.slot, partition.key, 0, 1000, 1, 9, 0)
        place = number * len(content)
        arena.memory[place : place + len(content)] = content
        message = header + PRODUCE_PLACE.pack(place, len(content))
        worker.seat.readers[0].messages.append((PRODUCE_AT, memoryview(bytearray(message))))
    worker.intake._placed_max[0] = 8
    assert [len(worker.cycle()) for _ in range(4)] == [8, 5, 5, 5]
    for _ in range(3):
        worker.cycle()
    for _ in range(25):
        worker.send("plain")
    assert [len(worker.cycle()) for _ in range(3)] == [5, 10, 10], "others are taken as ever, after a while"


@pytest.mark.parametrize(("place", "length"), [(4096, 61), (0, 1 << 40), (1 << 63, 1)])
def test_a_place_that_is_nowhere_is_no_batch_of_anybody(worker, place, length):
    worker.seat.arenas[0] = Arena(Region.private(ARENA_DATA + 4096))
    (partition,) = worker.view.topics["plain"].partitions
    message = PRODUCE_HEADER.pack(5, partition.slot, partition.key, 0, 1000, 1, 9, 0) + PRODUCE_PLACE.pack(
        place, length
    )
    worker.seat.readers[0].messages.append((PRODUCE_AT, memoryview(bytearray(message))))
    with pytest.raises(CorruptRing, match="bytes at"):
        worker.cycle()
    assert worker.replicas.by_slot[0].log.log_end_offset == 0


FULL, BEHIND, TAKEN = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("first", [0, 17])
def test_what_comes_behind_a_refused_batch_is_refused_until_that_comes_again(worker, first):
    """Taken, it would begin a producer that the log does not know, and the first one would be out of order for ever."""
    replica = worker.replicas.by_slot[0]
    replica.is_full = True
    assert worker.errors("plain", first) == [FULL]
    replica.is_full = False
    assert worker.errors("plain", first + 1, first + 2) == [BEHIND, BEHIND]
    assert worker.errors("plain", first, first + 1) == [TAKEN, TAKEN]
    assert worker.errors("plain", first + 2) == [TAKEN]


def test_with_too_few_replicas_as_well(worker):
    replica = worker.replicas.by_slot[0]
    replica.min_insync_replicas = 2
    assert worker.errors("plain", 5, acks=-1) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    replica.min_insync_replicas = 1
    assert worker.errors("plain", 6, acks=-1) == [BEHIND]
    assert worker.errors("plain", 5, 6, acks=-1) == [TAKEN, TAKEN]


def test_a_producer_that_gives_a_batch_up_goes_on(worker):
    """It is refused as often as it may have batches in flight, no longer."""
    replica = worker.replicas.by_slot[0]
    replica.is_full = True
    assert worker.errors("plain", 3) == [FULL]
    replica.is_full = False
    assert [worker.errors("plain", 4)[0] for _ in range(PRODUCE_IN_FLIGHT_MAX + 1)] == [BEHIND] * 5 + [TAKEN]


def test_of_a_producer_that_is_known_the_log_judges(worker):
    assert worker.errors("plain", 0) == [TAKEN]
    replica = worker.replicas.by_slot[0]
    replica.is_full = True
    assert worker.errors("plain", 1) == [FULL]
    replica.is_full = False
    assert worker.errors("plain", 2, 1, 2) == [OUT_OF_ORDER, TAKEN, TAKEN]


def test_what_a_network_worker_has_refused_before_is_told_with_the_batch(worker):
    assert worker.errors("plain", 9, flags=AFTER_REFUSAL) == [BEHIND]
    assert worker.errors("plain", 8) == [TAKEN]
    assert worker.errors("plain", 9, flags=AFTER_REFUSAL) == [TAKEN], "the producer is known"


def test_a_batch_whose_parts_are_gone_is_refused_as_any_other(tmp_path):
    """Other large batches outgrew the bound of parts. What follows it must not begin its producer."""
    worker = Worker(tmp_path, view_of(("plain", 1)), **{"socket.request.max.bytes": "4096"})
    (partition,) = worker.view.topics["plain"].partitions
    ring = worker.seat.readers[0].messages
    first = bytes(batch(producer_id=7, producer_epoch=0, base_sequence=0))
    parts = [(90, first[:100]), *((other, bytes(500)) for other in range(91, 100))]
    ring += [(PRODUCE_PART, memoryview(PRODUCE_PART_HEADER.pack(number, 0) + data)) for number, data in parts]
    end = PRODUCE_HEADER.pack(90, partition.slot, partition.key, 0, 1000, 1, 9, 100) + first[100:]
    ring.append((PRODUCE, memoryview(bytearray(end))))
    assert worker.errors("plain", 1) == [BEHIND, BEHIND]
    assert worker.errors("plain", 0, 1) == [TAKEN, TAKEN]


def test_each_batch_that_is_refused_before_its_log_is_asked_is_remembered():
    """One function refuses: another way to do it would be one that notes nothing."""
    (path,) = (Path(__file__).parents[3] / "workers" / "partition").rglob("append.py")
    assert path.read_text().count(".refuse(") == 1


def test_refusals_are_remembered_within_a_bound_and_for_a_while():
    refused = RefusedProducers()
    for number in range(REFUSED_PRODUCERS_MAX + 1):
        refused.note(1, memoryview(batch(producer_id=number, producer_epoch=0, base_sequence=4)), 1_000)
    assert len(refused) == REFUSED_PRODUCERS_MAX
    assert not refused.is_behind(1, 0, 0, 5, 1_000), "the oldest one went"
    assert refused.is_behind(1, 1, 0, 5, 1_000)
    assert not refused.is_behind(1, 2, 1, 5, 1_000), "under another epoch"
    assert not refused.is_behind(1, 3, 0, 5, 1_000 + REFUSED_PRODUCER_MS)
    refused.expire(1_000 + REFUSED_PRODUCER_MS)
    assert not len(refused)
    refused.note(1, memoryview(batch()), 1_000)
    refused.note(1, memoryview(bytes(20)), 1_000)
    assert not len(refused), "no idempotent producer's"


def test_what_is_not_to_be_acknowledged_has_a_result_all_the_same(worker):
    """Its network worker serves what comes after it on its connection once it is there."""
    worker.send("plain", acks=0)
    assert [one[1:3] for one in worker.cycle()] == [(0, 0)]
