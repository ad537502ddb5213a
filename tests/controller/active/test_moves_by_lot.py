"""Reassignments asked for, replaced and cancelled, by lot: controllers die, replies are lost, leaders write between two writes.

Nobody is asked to delete what the state of the partition has in sync; and in the end nothing is on its way, and each partition has a leader
among its replicas.
"""

import os
import random

import pytest

from headrace.controller.active.reassignment import reassignments
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkLost
from headrace.errors import HeadraceError
from headrace.ids import NO_LEADER
from tests.controller.active.reassignment.test_reassignments import OTHERS, assignment, start, state, write_isr
from tests.controller.fake_zk import Killed

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("MOVES", "6"))  # the third one found a cancellation that was committed in part
STEPS = 60
PARTITIONS = range(2)


class Moves:
    """A topic of two partitions on six brokers, and what happens to it."""

    def __init__(self, node, ensemble, seed):
        self.node = node
        self.ensemble = ensemble
        self.chance = random.Random(seed)
        self.asked = set()  # stops that were judged when they were asked

    def alive(self):
        return [broker for broker in OTHERS if znodes.broker_path(broker) in self.ensemble.nodes]

    def before_a_write(self, _ordinal):
        lot = self.chance.random()
        if lot < 0.15:
            raise Killed
        index = self.chance.choice(PARTITIONS)
        now = state(self.ensemble, index)
        if lot < 0.4 and now.leader in now.isr and len(now.isr) > 1:
            isr = tuple(one for one in now.isr if one == now.leader or self.chance.random() < 0.5)
            self.ensemble.put(znodes.state_path("t", index), znodes.encode_state(now._replace(isr=isr)))

    def after_a_write(self, _ordinal):
        if self.chance.random() < 0.06:
            raise ZkLost("no reply")

    def faults(self, are_on):
        self.ensemble.on_write = self.before_a_write if are_on else lambda _ordinal: None
        self.ensemble.after_write = self.after_a_write if are_on else lambda _ordinal: None

    def step(self):
        lot = self.chance.random()
        if lot < 0.35:
            self.ask()
        elif lot < 0.65:
            self.change_isr(self.chance.choice(PARTITIONS))
        elif lot < 0.8:
            broker = self.chance.choice(OTHERS)
            if broker not in self.alive():
                start(self.ensemble, broker)
            elif len(self.alive()) > 3:
                self.ensemble.remove(znodes.broker_path(broker))
        elif lot < 0.9:
            self.node.channels.answer_stops(set(self.alive()))
        self.node.turn(1)

    def ask(self):
        chance = self.chance
        targets = {
            index: None if chance.random() < 0.6 else tuple(chance.sample(OTHERS, chance.choice([1, 2, 3])))
            for index in PARTITIONS
            if chance.random() < 0.95
        }
        try:
            self.node.run(self.node.active.reassignments().alter("t", targets))
        except HeadraceError:
            pass  # it may be written or not

    def change_isr(self, index):
        now, replicas = state(self.ensemble, index), assignment(self.ensemble).replicas[index]
        others = [one for one in replicas if one in self.alive() and self.chance.random() < 0.7]
        isr = tuple(one for one in dict.fromkeys((now.leader, *others)) if one in replicas)
        if now.leader != NO_LEADER and now.leader in isr:
            write_isr(self.ensemble, index, isr)

    def judge(self):
        for broker, _topic, index, epoch, is_deleted, _call in self.node.channels.of("stop"):
            now = state(self.ensemble, index)
            if is_deleted and (broker, index, epoch) not in self.asked:
                assert broker not in (now.leader, *now.isr), (broker, index, epoch, now, assignment(self.ensemble))
                self.asked.add((broker, index, epoch))

    def run(self):
        for _ in range(STEPS):
            self.faults(are_on=True)
            try:
                self.step()
                self.faults(are_on=False)
            except Killed:
                self.faults(are_on=False)
                self.judge()
                self.node = self.node.restarted()
                self.asked.clear()
            self.judge()

    def heal(self):
        for broker in set(OTHERS).difference(self.alive()):
            start(self.ensemble, broker)
        for _ in range(30):
            self.node.turn(1)
            self.node.channels.answer_stops(set(OTHERS))
            self.judge()
            for index in PARTITIONS:
                now, replicas = state(self.ensemble, index), assignment(self.ensemble).replicas[index]
                if now.leader in replicas and set(now.isr) != set(replicas):
                    write_isr(self.ensemble, index, replicas)
            self.node.now_ms += reassignments.RECHECK_MS


@pytest.mark.parametrize("per_commit", [1, reassignments.CHANGES_PER_COMMIT])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nobody_deletes_what_is_in_sync_and_all_comes_to_an_end(new_node, ensemble, monkeypatch, seed, per_commit):
    monkeypatch.setattr(reassignments, "CHANGES_PER_COMMIT", per_commit)
    for broker in OTHERS:
        start(ensemble, broker)
    node = new_node()
    node.create("t", ((1, 2, 3),) * len(PARTITIONS))
    node.turn()
    moves = Moves(node, ensemble, seed)
    try:
        moves.run()
        moves.heal()
    finally:
        moves.faults(are_on=False)
    found = assignment(ensemble)
    assert not found.adding
    assert not found.removing
    assert all(state(ensemble, index).leader in found.replicas[index] for index in PARTITIONS)
