"""A partition worker that leads, its followers, and a controller process, which the test plays."""

from headrace.errors import ErrorCode
from headrace.ids import owner_of
from headrace.shm.cluster_view import BrokerView
from headrace.shm.messages import (
    ALTER_ISR_HEADER,
    ALTER_ISR_KNOWN,
    ALTER_ISR_RESULT,
    ALTER_ISR_WANTED,
    FOLLOWER_FETCHED,
    FOLLOWER_FETCHED_ENTRY,
    PRODUCE,
    PRODUCE_HEADER,
    RESULT,
    RESULT_ENTRY,
    RequestKind,
)
from headrace.workers.partition.worker import PartitionWorker
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import FakeClock, batch
from tests.support.seats import CONTROLLER, NETWORK, PARTITION, Asker

NODE, SECOND, THIRD = 0, 7, 9
REPLICAS = (NODE, SECOND, THIRD)
BROKER_EPOCH = 50
PARTITIONS = 4


class Cluster:
    """One partition worker of node 0; followers' fetches as a network worker passes them on; a controller that is played.

    asked     ALTER_ISR: (partition, leader epoch, known, {wanted: broker epoch}), in that order
    answers   error by partition of what is asked next; absent: it is done
    """

    def __init__(self, seats, **topic):
        self.seats = seats
        self.clock = FakeClock()
        self.controller = Asker(
            seats.seat(CONTROLLER), {RequestKind.FOLLOWED: _ignore, RequestKind.ALTER_ISR: self._asked}
        )
        self.network = Asker(seats.seat(NETWORK))
        self.view = view_of(("t", PARTITIONS, topic))
        self.live = dict.fromkeys(REPLICAS, BROKER_EPOCH)
        self.asked, self.answers, self.replies = [], {}, []
        self.is_deaf = False  # the controller keeps what it is asked
        self.results = []
        self.start()

    def start(self):
        self.worker = PartitionWorker(self.seats.seat(PARTITION), self.clock)
        self.publish()
        self.own = next(index for index in range(PARTITIONS) if owner_of("t", index, 2) == 0)
        self.turn()

    def restart(self):
        """The worker was killed, and another one is there."""
        for replica in self.worker._replicas.by_slot.values():
            replica.log.abandon()
        self.seats.fabric.renew(PARTITION)
        assert self.seats.fabric.settle(PARTITION)
        for peer in (self.controller, self.network):
            for process_id in peer.seat.changed():
                peer.mailbox.forget(process_id)
        self.worker = PartitionWorker(self.seats.seat(PARTITION), self.clock)
        self.turn()

    def publish(self, isr=None, epoch=None, replicas=None, leader=NODE, index=None):
        """A view with these partitions changed; None: as they were."""
        topic = self.view.topics["t"]
        partitions = []
        for one in topic.partitions:
            if index in (None, one.index):
                is_first = self.view.version == 1
                one = one._replace(
                    isr=isr or (REPLICAS if is_first else one.isr),
                    replicas=replicas or (REPLICAS if is_first else one.replicas),
                    leader_epoch=one.leader_epoch if epoch is None else epoch,
                    leader=leader,
                )
            partitions.append(one)
        brokers = {
            one: BrokerView(one, "127.0.0.1", 9092, None, broker_epoch) for one, broker_epoch in self.live.items()
        }
        self.view = self.view._replace(
            version=self.view.version + 1, brokers=brokers, topics={"t": topic._replace(partitions=tuple(partitions))}
        )
        self.controller.seat.view_writer.publish(self.view)

    def _asked(self, _version, body, reply):
        asked = []
        while body:
            slot, _key, epoch, known, wanted = ALTER_ISR_HEADER.unpack_from(body)
            end = ALTER_ISR_HEADER.size + known * ALTER_ISR_KNOWN.size
            ids = tuple(one for (one,) in ALTER_ISR_KNOWN.iter_unpack(body[ALTER_ISR_HEADER.size : end]))
            rest = end + wanted * ALTER_ISR_WANTED.size
            asked.append((slot, epoch, ids, dict(ALTER_ISR_WANTED.iter_unpack(body[end:rest]))))
            body = body[rest:]
        self.asked += asked
        self.replies.append((asked, reply))
        if not self.is_deaf:
            self.answer()

    def answer(self):
        """Do what was asked, as `answers` says; what came of it is published first."""
        replies, self.replies = self.replies, []
        for asked, reply in replies:
            errors = [self.answers.get(index, 0) for index, *_rest in asked]
            for (index, _epoch, _known, wanted), error in zip(asked, errors, strict=True):
                if not error:
                    self.publish(isr=tuple(wanted), index=index)
            reply(b"".join(ALTER_ISR_RESULT.pack(int(error)) for error in errors))

    def fetch(self, follower, offset, log_start=0, epoch=-1, broker_epoch=BROKER_EPOCH):
        """A follower's fetch of the partition."""
        one = self.partition
        entry = FOLLOWER_FETCHED_ENTRY.pack(one.slot, one.key, follower, epoch, broker_epoch, offset, log_start)
        writer = self.network.seat.writers[PARTITION]
        assert writer.write(FOLLOWER_FETCHED, entry)
        writer.commit()
        self.turn(1)

    def produce(self, request_id=5, acks=-1, timeout_ms=3_600_000):
        one = self.partition
        header = PRODUCE_HEADER.pack(request_id, one.slot, one.key, 0, timeout_ms, acks, 9, 0)
        writer = self.network.seat.writers[PARTITION]
        assert writer.write(PRODUCE, header, bytes(batch()))
        writer.commit()
        self.turn(1)

    def turn(self, cycles=4):
        for _ in range(cycles):
            self.worker.do_work()
            reader = self.network.seat.readers[PARTITION]
            for kind, body in reader.poll(100):
                if kind == RESULT:
                    self.results += [(one[0], ErrorCode(one[2]).name) for one in RESULT_ENTRY.iter_unpack(body)]
                elif kind not in (4, 11):
                    self.network.mailbox.take(PARTITION, kind, body)
            reader.release()
            self.network.mailbox.flush()
            self.controller.turn()

    def wait(self, ms, cycles=4):
        self.clock.ms += ms
        self.turn(cycles)

    @property
    def partition(self):
        return self.view.topics["t"].partitions[self.own]

    @property
    def replica(self):
        return self.worker._replicas.by_slot[self.partition.slot]

    @property
    def mark(self):
        return self.controller.seat.partitions.read(self.partition.slot).high_watermark

    def asked_here(self):
        """What was asked for the partition since the last call: (known, wanted)."""
        asked, self.asked = self.asked, []
        return [(known, tuple(wanted)) for slot, _epoch, known, wanted in asked if slot == self.partition.slot]


def _ignore(_version, _body, _reply):
    pass
