"""A batch that begins a transaction waits for its coordinator, in order with what its producer sends after it."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import PRODUCE, PRODUCE_HEADER, PRODUCE_TRANSACTIONAL, TRANSACTIONAL_ID
from headrace.workers.partition.append import Appender
from headrace.workers.partition.intake import Intake
from headrace.workers.partition.produce_purgatory import ProducePurgatory
from headrace.workers.partition.replication.isr import IsrKeeper
from headrace.workers.partition.unverified_batches import UnverifiedBatches
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import FakeSeat, view_of
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import batch
from tests.workers.partition.test_append import Answers, Reader

FIRST = {"producer_id": 7, "producer_epoch": 3}


class Rig:
    """A worker's appends; the test is the coordinator.

    asked   (transactional id, producer id, epoch, on_done)
    """

    def __init__(self, path):
        self.view = view_of(("t", 1))
        self.seat = FakeSeat([path], {})
        self.seat.readers = {0: Reader()}
        disk = FaultyDisk()
        self.replicas = AnsweredReplicas(self.seat, 0, FakeClock(), disk)
        self.replicas.follow(self.view)
        (self.replica,) = self.replicas.by_slot.values()
        self.answers = Answers(disk)
        self.asked = []
        self.unverified = UnverifiedBatches(self._ask)
        self.appender = Appender(
            self.seat, self.replicas, self.answers, ProducePurgatory(self.answers), self.unverified
        )
        self.seat.writers = {}
        self.seat.readers |= {peer: Reader() for peer in self.seat.wiring.targets(self.seat.process_id) if peer}
        mailbox = Mailbox(self.seat)
        isr = IsrKeeper(self.replicas.by_slot, self.replicas.live, mailbox, self.seat.wiring.controller_id, id)
        self.intake = Intake(self.seat, self.answers, self.appender, mailbox, isr)
        self._next_id = 0

    def _ask(self, replica, transactional_id, producer_id, epoch, wait_ms, on_done):
        assert replica is self.replica
        self.asked.append((transactional_id, producer_id, epoch, on_done))

    def send(self, sequence, *, is_transactional=True, name="copier", **producer):
        """A batch, in the ring; returns its request's id."""
        (partition,) = self.view.topics["t"].partitions
        self._next_id += 1
        header = PRODUCE_HEADER.pack(self._next_id, partition.slot, partition.key, 0, 1000, 1, 9, 0)
        attributes = TRANSACTIONAL_BIT if is_transactional else 0
        records = bytes(batch(base_sequence=sequence, attributes=attributes, **(FIRST | producer)))
        kind = PRODUCE
        if name is not None:
            kind, header = PRODUCE_TRANSACTIONAL, header + TRANSACTIONAL_ID.pack(len(name)) + name.encode()
        self.seat.readers[0].messages.append((kind, memoryview(bytearray(header + records))))
        return self._next_id

    def cycle(self):
        """(request id, error, base offset) of what was answered."""
        self.intake.do_work(NOW_MS, NOW_MS)
        self.appender.append_verified(NOW_MS, NOW_MS)
        given, self.answers.given = self.answers.given, []
        return [(request_id, E(error), offset) for request_id, error, offset, _syncs in given]

    def decide(self, error=E.NONE):
        """The coordinator's answer to the question before all others, as the verifier reports it."""
        _name, producer_id, epoch, on_done = self.asked.pop(0)
        if not error:
            self.replica.log.producers.begin_verification(producer_id, epoch).is_valid = True
        on_done(error)


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


def test_nothing_is_appended_before_the_coordinator_has_answered(rig):
    first = rig.send(0)
    assert rig.cycle() == []
    assert [asked[:3] for asked in rig.asked] == [("copier", 7, 3)]
    assert rig.replica.log.log_end_offset == 0
    rig.decide()
    assert rig.cycle() == [(first, E.NONE, 0)]
    second = rig.send(1)
    assert rig.cycle() == [(second, E.NONE, 1)], "the transaction is open"
    assert not rig.asked
    assert not rig.replica.log.producers.verifications


def test_what_follows_waits_in_order_and_others_do_not(rig):
    ids = [rig.send(0), rig.send(1)]
    rig.cycle()
    ids += [rig.send(2), rig.send(3)]
    other = rig.send(0, producer_id=8, is_transactional=False, name=None)
    assert rig.cycle() == [(other, E.NONE, 0)]
    assert len(rig.asked) == 1
    rig.decide()
    ids.append(rig.send(4))
    assert rig.cycle() == [(request_id, E.NONE, 1 + number) for number, request_id in enumerate(ids)]


def test_after_a_refusal_nothing_that_followed_is_taken_for_the_first(rig):
    """KAFKA-14920: five were in flight, the first one was refused, and the second began the producer."""
    ids = [rig.send(sequence) for sequence in range(4)]
    rig.cycle()
    rig.decide(E.INVALID_TXN_STATE)
    assert rig.cycle() == [(request_id, E.INVALID_TXN_STATE, -1) for request_id in ids]
    late = rig.send(4)
    assert rig.cycle() == [(late, E.NOT_LEADER_OR_FOLLOWER, -1)]
    again = rig.send(0)
    rig.cycle()
    rig.decide()
    assert rig.cycle() == [(again, E.NONE, 0)]


def test_an_answer_that_came_too_late_is_asked_for_again(rig):
    first = rig.send(0)
    rig.cycle()
    rig.decide()
    rig.replica.log.append_marker(7, 3, 1, True, rig.replica.leader_epoch, NOW_MS)
    assert rig.cycle() == []
    rig.decide()
    assert rig.cycle() == [(first, E.NONE, 1)]


def test_a_later_epoch_of_the_producer_is_asked_about_on_its_own(rig):
    first, second = rig.send(0), rig.send(0, producer_epoch=4)
    rig.cycle()
    rig.decide(E.INVALID_PRODUCER_EPOCH)
    assert rig.cycle() == [(first, E.INVALID_PRODUCER_EPOCH, -1)]
    assert [asked[:3] for asked in rig.asked] == [("copier", 7, 4)]
    rig.decide()
    assert rig.cycle() == [(second, E.NONE, 0)]


def test_a_leader_that_was_deposed_meanwhile_appends_nothing(rig):
    first = rig.send(0)
    rig.cycle()
    rig.replicas.follow(view_of())
    rig.decide()
    assert rig.cycle() == [(first, E.NOT_LEADER_OR_FOLLOWER, -1)]


def test_a_transactional_batch_without_an_id_is_refused(rig):
    first = rig.send(0, name=None)
    assert rig.cycle() == [(first, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)]


def test_a_network_worker_that_died_leaves_nothing_behind(rig):
    rig.send(0)
    rig.cycle()
    rig.appender.forget(0)
    rig.decide()
    assert rig.cycle() == []
    assert rig.replica.log.log_end_offset == 0
    assert not rig.unverified.waiting


def test_so_many_bytes_wait_and_no_more(rig, monkeypatch):
    monkeypatch.setattr("headrace.workers.partition.unverified_batches.UNVERIFIED_BYTES_MAX", len(batch()) + 1)
    first, second, third = (rig.send(sequence) for sequence in range(3))
    assert rig.cycle() == [(second, E.NOT_ENOUGH_REPLICAS, -1), (third, E.NOT_ENOUGH_REPLICAS, -1)]
    rig.decide()
    assert rig.cycle() == [(first, E.NONE, 0)]
    fourth = rig.send(1)
    assert rig.cycle() == [(fourth, E.NONE, 1)]
