"""One partition worker's replicas and fetchers, turned by hand beside the leaders that the test plays."""

import os

from headrace.ids import partition_key
from headrace.runtime.peers import Peers
from headrace.runtime.poller import Poller
from headrace.shm.cluster_view import EMPTY_VIEW, BrokerView, PartitionView, TopicView
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetchers import Fetchers
from headrace.workers.partition.replication.throttle import Throttle
from tests.runtime.runtime_fakes import CycleSeat
from tests.support.fake_seat import TOPIC_ID
from tests.support.log_fixtures import all_bytes
from tests.support.waiting import wait_until
from tests.workers.partition.replica_fixtures import Node

OWN_EPOCH = 7_000


class FollowerRig:
    """Node 0; leaders are brokers 1, 2, ... in the order in which they are met.

    cut   replicas whose log was cut, in that order
    """

    def __init__(self, path, settings=None):
        path.mkdir()
        self.node = Node(path, **{"replica.fetch.wait.max.ms": "500", **(settings or {})})
        self._bell = CycleSeat()
        self.poller = Poller(self._bell.doorbell)
        self.clock = self.node.clock
        self.peers = Peers(self.poller, self.clock, self._bell.doorbell.force, chance=lambda: 0.5)
        self.cut = []
        self.leaders = []
        self.wait_ms = 2  # of a turn, for what comes over loopback
        self.view = EMPTY_VIEW._replace(version=1, brokers={0: BrokerView(0, "127.0.0.1", 1, None, OWN_EPOCH)})
        self._begin()

    def _begin(self):
        seat = self.node.seat
        options = FetchOptions.from_settings(seat.wiring.settings, 0)
        throttle = Throttle(0, seat.wiring.settings["follower.replication.throttled.rate"], seat.counters)
        self.fetchers = Fetchers(options, self.peers, self.clock, self.cut.append, 64, throttle)
        moved = self.node.replicas.moved
        moved.observe(self.fetchers.note_moved, self.fetchers)
        moved.observe_roles(self.fetchers.follow_role)

    def killed(self, seat=None):
        """The worker's successor, or, with another seat, that of the node; nothing is followed yet."""
        self.fetchers.close()
        if seat is None:
            self.node.killed()
        else:
            for replica in self.node.replicas.by_slot.values():
                replica.log.abandon()
            self.node.seat = seat
            self.node.start()
        self._begin()
        self.fetchers.follow(self.view)

    def meet(self, leader):
        self.leaders.append(leader)
        self.place(len(self.leaders), leader.node.port)

    def place(self, broker, port):
        """A broker is at another port; 0: it is not there."""
        brokers = dict(self.view.brokers)
        brokers.pop(broker, None)
        if port:
            brokers[broker] = BrokerView(broker, "127.0.0.1", port)
        self.view = self.view._replace(version=self.view.version + 1, brokers=brokers)
        self.fetchers.follow(self.view)

    def follow(self, leader=1, epoch=0, count=1, name="t", configs=None, topic_id=TOPIC_ID, is_held=False):
        """The view has the topic led by a broker, under an epoch; returns the replica of its first partition."""
        old = self.view.topics.get(name)
        start = (
            old.partitions[0].slot if old is not None else sum(len(one.partitions) for one in self.view.topics.values())
        )
        partitions = tuple(
            PartitionView(
                index, leader, epoch, (0, 1, 2), (0, 1, 2), (), start + index, partition_key(name, index, topic_id)
            )._replace(is_held=is_held)
            for index in range(count)
        )
        topic = TopicView(name, topic_id, False, configs or {}, partitions)
        self.show({**self.view.topics, name: topic})
        return self.node.replicas.by_slot[start]

    def show(self, topics):
        self.view = self.view._replace(version=self.view.version + 1, topics=topics)
        self.fetchers.follow(self.view)
        self.node.replicas.follow(self.view)
        while self.node.replicas.has_unopened:
            self.node.replicas.open_some()
        self.node.replicas.moved.tell()

    @property
    def replica(self):
        return self.node.replicas.by_slot[0]

    @property
    def log(self):
        return self.replica.log

    @property
    def state(self):
        return self.fetchers.by_slot[0].state

    def turn(self):
        self.poller.wait(self.wait_ms)
        done = self.poller.dispatch() + self.fetchers.do_work(self.clock.ms)
        done += self.node.replicas.moved.tell()
        done += self.peers.turn()
        for leader in self.leaders:
            leader.pump()
        return done

    def turn_until(self, is_so, complaint="not in time"):
        wait_until(lambda: (self.turn() and False) or is_so(), complaint)

    def settle(self, turns=5):
        """Some turns in which nothing is done."""
        idle = 0
        while idle < turns:
            idle = 0 if self.turn() else idle + 1

    def pass_ms(self, duration_ms):
        self.clock.ms += duration_ms
        self.turn()

    def follow_until(self, led, complaint="not in time"):
        """Until the logs are the same, byte by byte."""
        self.turn_until(
            lambda: self.log.log_end_offset == led.log.log_end_offset and all_bytes(self.log) == all_bytes(led.log),
            complaint,
        )
        if self.log.log_start_offset == led.log.log_start_offset:
            assert epochs_with_records(self.log) == epochs_with_records(led.log)

    def close(self):
        self.fetchers.close()
        self.peers.close_all()
        self.poller.close()
        for replica in self.node.replicas.by_slot.values():
            replica.log.abandon()
        os.close(self._bell.doorbell.fd)


def epochs_with_records(log):
    return [(epoch, start) for epoch, start in log.epochs.entries if start < log.log_end_offset]
