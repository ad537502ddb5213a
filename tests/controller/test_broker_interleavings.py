"""Brokers beside the controller process, over connections that break and answers that are lost, by lot.

The world of `test_interleavings.py`, with the real channels. In the end each broker that lives

    knows every partition as ZooKeeper has it, and no other one
    follows and leads what it is assigned, and has no files of anything else
    was never told to follow a broker that it does not know
"""

import os

import pytest

from headrace.controller import process
from headrace.controller.active import broker_channel
from headrace.controller.active.broker_channels import BrokerChannels
from headrace.controller.active.leaders import state_changes
from headrace.controller.active.topics import deletions, reconciliation
from headrace.controller.zookeeper import znodes
from headrace.protocol.codec import encode_request
from tests.controller.test_interleavings import World
from tests.controller.told_broker import ToldBroker

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("INTERLEAVINGS", "15"))
FOUND = (
    1032,  # first states and a growth without their replies: read again, and told to nobody
    5011,  # a topic whose states were gone when the next controller read it: who had not heard of its deletion never did
)
FIRST_SEED = int(os.environ.get("INTERLEAVINGS_FROM", "1"))


class LotLine:
    """`active/broker_channel.Line` to a broker, which takes and answers a request by lot."""

    def __init__(self, world, broker_id):
        self._world = world
        self._broker_id = broker_id
        self._asked = None  # api key, version, body, way back
        self._is_closed = False

    def ask(self, api_key, version, message, on_reply):
        if self._is_closed or self._world.chance.random() < 0.1:
            return False
        assert self._asked is None
        self._asked = (api_key, version, encode_request(api_key, version, message), on_reply)
        return True

    def knock(self, on_heard):
        if self._is_closed or self._world.chance.random() < 0.1:
            return False
        broker = self._world.incarnations.get(self._broker_id)
        is_there = broker is not None and broker.is_alive
        on_heard(is_there and (self._world.is_well or self._world.chance.random() < 0.8))
        return True

    def go_on(self, is_well):
        """is_well   nothing fails"""
        chance = self._world.chance
        if self._asked is None or (not is_well and chance.random() < 0.5):
            return
        api_key, version, body, on_reply = self._asked
        self._asked = None
        broker = self._world.incarnations.get(self._broker_id)
        answer = None
        if broker is not None and broker.is_alive and (is_well or chance.random() < 0.9):
            answer = broker.take(api_key, version, body)
        on_reply(answer if is_well or chance.random() < 0.8 else None)

    def close(self):
        self._is_closed = True
        if self._asked is not None:
            self.go_on(False)
        if self._asked is not None:
            self._asked = None


class ToldWorld(World):
    """The same, with brokers that are told over lines.

    incarnations   by broker, the last one; alive or not
    """

    def __init__(self, *arguments):
        self.incarnations = {}
        self.lines = []
        self.is_well = False
        super().__init__(*arguments)

    def start_process(self):
        self.lines = []
        super().start_process()
        self.monkeypatch.setattr(process, "BrokerChannels", self.open_real)

    def open_real(self, term, versions, open_line):
        def open_any(registration):
            if registration.node_id == 0:
                return open_line(registration)
            self.lines.append(LotLine(self, registration.node_id))
            return self.lines[-1]

        return BrokerChannels(term, versions, open_any)

    def broker_comes(self):
        super().broker_comes()
        broker_id = max(self.brokers)
        epoch = self.ensemble.nodes[znodes.broker_path(broker_id)].created_zxid
        held = self.held.setdefault(broker_id, set())
        self.incarnations[broker_id] = ToldBroker(broker_id, epoch, held)

    def broker_comes_or_goes(self):
        before = dict(self.brokers)
        super().broker_comes_or_goes()
        for broker_id in before.keys() - self.brokers.keys():
            self.incarnations[broker_id].is_alive = False

    def broker_is_restarted(self):
        """Its session and its memory go, and it is there again before anybody has read that."""
        broker_id = max(self.brokers)
        self.brokers.pop(broker_id).expire()
        self.broker_comes()

    def disturb(self):
        super().disturb()
        if self.brokers and self.chance.random() < 0.01:
            self.broker_is_restarted()

    def cycle(self):
        for line in self.lines:
            line.go_on(self.is_well)
        super().cycle()

    def heal(self):
        self.is_well = True
        super().heal()

    def check(self):
        super().check()
        states, replicas, ids = {}, {}, {}
        for path, node in self.ensemble.nodes.items():
            if path.startswith(f"{znodes.TOPICS}/") and path.count("/") == 3:
                name = path.rpartition("/")[2]
                topic = znodes.decode_topic(name, node.data)
                for index, row in enumerate(topic.replicas):
                    at = znodes.state_path(name, index)
                    state = znodes.decode_state(at, self.ensemble.data(at), self.ensemble.nodes[at].version)
                    states[name, index] = (state.leader, state.leader_epoch, state.isr, state.version)
                    replicas[name, index], ids[name, index] = row, topic.topic_id
        for broker_id, broker in self.incarnations.items():
            if broker_id not in self.brokers:
                continue
            assert broker.faults == []
            assert broker.live == {0, *self.brokers}
            assert broker.metadata == states
            own = {place for place, row in replicas.items() if broker_id in row}
            assert {place: told[:2] for place, told in broker.leaders.items()} == {
                place: states[place][:2] for place in own
            }
            assert broker.held == {(name, ids[name, index], index) for name, index in own}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")  # of processes that were killed
@pytest.mark.parametrize("seed", sorted({*range(FIRST_SEED, FIRST_SEED + SEEDS), *FOUND}))
def test_whatever_breaks_brokers_end_with_what_zookeeper_has(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(reconciliation, "PARTITIONS_PER_COMMIT", 2)
    monkeypatch.setattr(deletions, "ZNODES_PER_COMMIT", 3)
    monkeypatch.setattr(state_changes, "CHANGES_PER_COMMIT", 3)
    monkeypatch.setattr(broker_channel, "NOTICE_PARTITIONS_MAX", 3)
    world = ToldWorld(seed, tmp_path, monkeypatch)
    world.play()
