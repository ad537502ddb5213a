"""A partition worker's own cycle: it follows, sleeps, and takes a role before anything that a leader sent."""

import os

import pytest

from headrace.ids import partition_key
from headrace.limits import IDLE_WAIT_MAX_MS
from headrace.runtime.poller import Poller
from headrace.shm.cluster_view import EMPTY_VIEW, BrokerView, PartitionView, TopicView
from headrace.workers.partition.worker import PartitionWorker
from tests.runtime.runtime_fakes import CycleSeat
from tests.support.fake_clock import FakeClock
from tests.support.fake_seat import TOPIC_ID
from tests.support.waiting import wait_until
from tests.workers.partition.replication.log_leader import LedLog, LogLeader
from tests.workers.partition.test_worker import Seat


class Process:
    """The worker, with a doorbell and a poller, turned by hand."""

    def __init__(self, directory, leader):
        bell = CycleSeat()
        self.seat = Seat([directory])
        self.seat.doorbell = bell.doorbell
        self.poller = Poller(bell.doorbell)
        self.worker = PartitionWorker(self.seat, FakeClock(), self.poller)
        self.leader = leader

    def show(self, leader, epoch, is_halted=False):
        key = partition_key("t", 0, TOPIC_ID)
        partition = PartitionView(0, leader, epoch, (0, 1), (0, 1), (), 0, key, is_halted)
        now = self.seat.view.now
        brokers = {0: BrokerView(0, "127.0.0.1", 1), 1: BrokerView(1, "127.0.0.1", self.leader.node.port)}
        topics = {"t": TopicView("t", TOPIC_ID, False, {}, (partition,))}
        self.seat.view.now = EMPTY_VIEW._replace(version=now.version + 1, brokers=brokers, topics=topics)

    def turn(self):
        self.poller.wait(2)
        done = self.worker.do_work()
        self.leader.pump()
        return done

    def turn_until(self, is_so):
        wait_until(lambda: (self.turn() and False) or is_so())

    @property
    def end_offset(self):
        return self.seat.partitions.read(0).log_end_offset

    def close(self):
        self.worker.drain()
        assert self.worker.close()
        self.poller.close()
        os.close(self.seat.doorbell.fd)


@pytest.fixture
def led(tmp_path):
    (tmp_path / "leader").mkdir()
    return LedLog(tmp_path / "leader")


@pytest.fixture
def process(tmp_path, led):
    leader = LogLeader(led)
    (tmp_path / "own").mkdir()
    process = Process(tmp_path / "own", leader)
    yield process
    process.close()
    leader.close()


def test_a_halted_replica_fetches_nothing_under_any_epoch_until_it_is_told_to_follow(process, led):
    led.append(20)
    process.show(leader=1, epoch=0)
    process.turn_until(lambda: process.end_offset == 20)
    process.show(leader=1, epoch=0, is_halted=True)
    process.turn()
    led.lead(1)
    led.append(5)
    process.show(leader=1, epoch=1, is_halted=True)
    for _ in range(200):
        process.turn()
    assert process.end_offset == 20
    assert process.seat.partitions.read(0).leader_epoch == 1
    process.show(leader=1, epoch=1)
    process.turn_until(lambda: process.end_offset == 25)


def test_it_has_what_the_leader_has_and_sleeps_then(process, led):
    led.append(20)
    process.show(leader=1, epoch=0)
    process.turn_until(lambda: process.end_offset == 20)
    for _ in range(5):
        process.turn()
    assert not process.turn()
    assert 0 < process.worker.sleep_bound_ms() <= IDLE_WAIT_MAX_MS
    led.append(1)
    process.turn_until(lambda: process.end_offset == 21)


def test_in_the_cycle_in_which_it_leads_it_takes_nothing_of_the_leader_before_it(process, led):
    process.show(leader=1, epoch=0)
    process.turn_until(lambda: process.leader.fetches)
    for _ in range(5):
        process.turn()
    led.append(5)
    process.leader.pump()  # its answer is in the socket
    process.show(leader=0, epoch=1)
    process.turn()
    assert process.end_offset == 0
    process.turn()
    assert process.leader.node.session.is_over, "nobody is fetched from"


def test_a_worker_that_stops_does_not_fetch_on(process, led):
    process.show(leader=1, epoch=0)
    process.turn_until(lambda: process.leader.fetches)
    process.worker.drain()
    led.append(3)
    for _ in range(5):
        process.turn()
    assert process.end_offset == 0
