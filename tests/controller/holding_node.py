"""A node after its machine went down, over a fake ZooKeeper: the rig of the tests of holds."""

import logging

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.holds import CHECK_MS, Holds
from headrace.controller.agent.other_ends import Questions
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.znodes import PartitionState, TopicAssignment
from headrace.ids import partition_key
from headrace.shm.messages import (
    OPENED_LOG,
)

NODE, SECOND, THIRD = 0, 1, 2
REPLICAS = (NODE, SECOND, THIRD)
ID = "0" * 31 + "1"
LOST = "acknowledged records may be lost"
LATER = LogEnd(9, 100)


class Rig:
    """A node after its machine went down; the controller is another one, which a test plays."""

    def __init__(self, new_node, ensemble, **changes):
        self.ensemble = ensemble
        for path in znodes.PERSISTENT_PATHS:
            ensemble.put(path, b"")
        self.others = {broker: self.register(broker) for broker in (SECOND, THIRD)}
        ensemble.put(znodes.CONTROLLER_EPOCH, b"1")
        controller = ensemble.session()
        ensemble.run(controller.create(znodes.CONTROLLER, znodes.encode_controller(THIRD, 0), is_ephemeral=True))
        self.node = new_node(NODE, join=False, **changes)
        self.ends = {SECOND: {}, THIRD: {}}
        self.asked, self.registrations = [], 0
        self.asking = self.ask
        self.partings = {}  # by broker; else logs are the same up to where ours was found to have parted, or one of them ends
        self.marks = {}
        self.out = set()  # replicas here whose logs are out of service
        self.loading = set()  # and whose rows say nothing yet
        self.unanswered = set()  # brokers that do not say where their logs have parted
        self.begin()

    def register(self, broker):
        session = self.ensemble.session()
        data = znodes.encode_broker("there", 9000 + broker, None, 5)
        self.ensemble.run(session.create(znodes.broker_path(broker), data, is_ephemeral=True))
        return session

    def begin(self, has_new_directory=False):
        """A process of the node."""
        node = self.node
        self.known = node.known
        self.known.held.clear()
        self.holds = Holds(
            node.known, node.zk, node.tasks, lambda: node.now_ms,
            Questions(
                lambda wanted: self.asking(wanted), self.part, lambda place: self.marks.get(place, -1),
                self.out.__contains__, lambda place: place not in self.out | self.loading,
            ),
            self.register_again, node.seat.wiring.settings, has_new_directory,
        )  # fmt: skip

    async def ask(self, wanted):
        self.asked.append({broker: set(places) for broker, places in wanted.items()})
        return {broker: dict(self.ends[broker]) for broker in wanted}

    async def part(self, wanted):
        held = self.known.held
        return {
            broker: {
                place: self.partings.get(broker, self.default_parting(broker, held[place], place)) for place in places
            }
            for broker, places in wanted.items()
            if broker not in self.unanswered
        }

    def default_parting(self, broker, held, place):
        return min(held.parted_at if held.is_ahead else held.end_offset, self.ends[broker][place].offset)

    async def register_again(self):
        self.registrations += 1

    def unregister(self, broker):
        """It is away."""
        self.ensemble.run(self.others[broker].delete(znodes.broker_path(broker)))

    def put(self, isr=(NODE,), leader=-1, replicas=REPLICAS, name="t", epoch=5, **configs):
        self.ensemble.put(znodes.topic_path(name), znodes.encode_topic(TopicAssignment(ID, (replicas,))))
        self.ensemble.put(znodes.topic_config_path(name), znodes.encode_config(configs))
        self.state(isr, leader, name, epoch)

    def state(self, isr, leader, name="t", epoch=5):
        self.ensemble.put(znodes.state_path(name, 0), znodes.encode_state(PartitionState(leader, epoch, isr, 1)))

    def join(self, after_power_loss=True, in_all_directories=True):
        node = self.node

        async def joining():
            if after_power_loss:
                await self.holds.take_suspects(in_all_directories)
            await self.holds.load()
            await node.joining()
            self.holds.settle_loaded(is_resumed=not after_power_loss)

        node.run(joining())
        node.publish()

    def opened(self, end=88, mark=0, epoch=4, flags=0, name="t"):
        """What its owner tells of the log; the response."""
        slot = self.known.slots.get(name, 0)
        body = OPENED_LOG.pack(slot, partition_key(name, 0, ID), end, mark, epoch, epoch, flags)
        return self.holds.take_opened(memoryview(body))

    def check(self, ms=CHECK_MS):
        self.node.now_ms += ms
        now_ms = self.node.now_ms
        assert self.holds.poll(now_ms)
        self.node.tasks.run(1_000)
        self.node.now_ms = now_ms
        self.holds.follow()
        self.node.publish()

    def view(self, name="t"):
        partition = self.node.seat.view.read().topics[name].partitions[0]
        return partition.leader, partition.isr

    @property
    def is_held(self):
        """In the view."""
        return self.node.seat.view.read().topics["t"].partitions[0].is_held

    @property
    def stored(self):
        prefix = f"{held_znodes.held_by_path(NODE)}/"
        return {path.removeprefix(prefix) for path in self.ensemble.nodes if path.startswith(prefix)}

    @property
    def events(self):
        return sum(path.startswith(znodes.LOG_DIR_EVENT_PREFIX) for path in self.ensemble.nodes)

    def stored_state(self, name="t"):
        path = znodes.state_path(name, 0)
        return znodes.decode_state(path, self.ensemble.data(path), 0)


def lost_lines(caplog):
    return [record.message for record in caplog.records if LOST in record.message and record.levelno == logging.ERROR]
