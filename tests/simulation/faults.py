"""What goes wrong in a simulation: a plan of faults, drawn from the seed before the run, each at its time and for its while.

    plan = draw_plan(seed, count, span_ms, nodes)     -> [Fault]; a part of it is a plan as well (`shrinking.py`)
    Faults(cluster, plan).begin()                     each happens at its time
    end()                                             everything is mended, nodes that are away are started

A fault that can't be at its time (its node is away already) is skipped, and the story says so. Where topics are not synced before each
answer, power is lost only while every replica is in sync: else Kafka's promise does not hold either.
"""

import random
from typing import NamedTuple

from headrace.shm.wiring import Role
from tests.simulation.ensemble import HOST as ZOOKEEPER
from tests.simulation.kernel import MS
from tests.simulation.network import CLIENT_HOST

ROLES = list(Role)
RETRY_MS = 500


class Fault(NamedTuple):
    """kind     a method of Faults
    at_ms    after the load began
    span_ms  how long it lasts, where it does
    node     whom it hits
    other    a second node, or which role: by number
    count    system calls until a death, ...
    """

    kind: str
    at_ms: int
    span_ms: int
    node: int
    other: int
    count: int

    def __str__(self):
        return f"{self.kind}@{self.at_ms}+{self.span_ms} node={self.node} other={self.other} count={self.count}"


WEIGHTS = {
    "die": 22,
    "die_in_call": 26,
    "pause": 8,
    "kill_node": 10,
    "stop_node": 4,
    "lose_power": 10,
    "cut_both": 6,
    "cut_one_way": 8,
    "isolate": 6,
    "cut_zookeeper": 6,
    "expire_session": 6,
    "drop_zookeeper": 3,
    "zookeeper_away": 3,
    "slow_node": 3,
    "jump_clock": 2,
}


def draw_plan(seed, count, span_ms, nodes, kinds=None):
    """Faults by lot, in the order of their times."""
    chance = random.Random(f"plan {seed}")
    weights = {kind: weight for kind, weight in WEIGHTS.items() if kinds is None or kind in kinds}
    names = list(weights)
    plan = [
        Fault(
            chance.choices(names, weights.values())[0],
            chance.randrange(span_ms),
            chance.choice([chance.randrange(5, 300), chance.randrange(300, 4_000), chance.randrange(4_000, 12_000)]),
            chance.randrange(nodes),
            chance.randrange(12),
            chance.randrange(1, 60),
        )
        for _ in range(count)
    ]
    return sorted(plan, key=lambda fault: fault.at_ms)


class Faults:
    """done   how many of each kind happened"""

    def __init__(self, cluster, plan):
        self._cluster = cluster
        self._kernel = cluster.kernel
        self._network = cluster.network
        self._plan = plan
        self._is_over = False
        self.done = dict.fromkeys(WEIGHTS, 0)

    def begin(self):
        for fault in self._plan:
            self._kernel.after(fault.at_ms * MS, lambda fault=fault: self._happen(fault))

    def end(self):
        """No more faults, and none that lasts."""
        self._is_over = True
        self._network.heal_all()
        self._network.slow_hosts.clear()
        self._cluster.ensemble.is_up = True
        for node in self._cluster.nodes:
            node.paused_until_ns = 0
            for process in node.machine.processes:
                process.paused_until_ns = 0
                process.calls_left = 0
            self._bring_back(node)

    def _happen(self, fault):
        if self._is_over:
            return
        node = self._cluster.nodes[fault.node]
        is_done = getattr(self, fault.kind)(node, fault)
        self._kernel.note("FAULT", f"{'' if is_done else 'skipped '}{fault}")
        self.done[fault.kind] += bool(is_done)

    def _later(self, fault, call):
        self._kernel.after(fault.span_ms * MS, lambda: None if self._is_over else call())

    def _bring_back(self, node):
        if node.is_up:
            return
        if not node.machine.is_on:
            node.power_on()
        else:
            node.start()

    def _other(self, node, fault):
        others = [one for one in self._cluster.nodes if one is not node]
        return others[fault.other % len(others)] if others else None

    # Processes

    def die(self, node, fault):
        process = node.process(ROLES[fault.other % len(ROLES)])
        if process is None:
            return False
        process.die("fault")
        return True

    def die_in_call(self, node, fault):
        process = node.process(ROLES[fault.other % len(ROLES)])
        if process is None:
            return False
        process.calls_left = fault.count
        return True

    def pause(self, node, fault):
        """SIGSTOP to a process, or to all of a node."""
        until_ns = self._kernel.now_ns + fault.span_ms * MS
        if fault.other >= len(ROLES):
            node.paused_until_ns = until_ns
            for process in node.machine.processes:
                process.paused_until_ns = until_ns
            return node.is_up
        process = node.process(ROLES[fault.other])
        if process is None:
            return False
        process.paused_until_ns = until_ns
        return True

    # Nodes

    def kill_node(self, node, fault):
        if not node.is_up:
            return False
        node.kill()
        self._later(fault, lambda: self._bring_back(node))
        return True

    def stop_node(self, node, fault):
        if not node.is_serving:
            return False
        node.stop()
        self._kernel.after(fault.span_ms * MS, lambda: self._start_stopped(node))
        return True

    def _start_stopped(self, node):
        if node.is_asked_to_stop:
            self._kernel.after(RETRY_MS * MS, lambda: self._start_stopped(node))
        else:
            self._bring_back(node)

    def lose_power(self, node, fault):
        cluster = self._cluster
        if not node.is_up or not (cluster.is_synced or cluster.judges.is_whole()):
            return False
        cluster.judges.lost_power(node.node_id)
        node.lose_power()
        self._later(fault, lambda: self._bring_back(node))
        return True

    # The network

    def cut_both(self, node, fault):
        return self._cut(fault, self._both(node, self._other(node, fault)))

    def cut_one_way(self, node, fault):
        return self._cut(fault, self._both(node, self._other(node, fault))[:1])

    def isolate(self, node, fault):
        """From all others, and sometimes from clients and ZooKeeper as well."""
        pairs = []
        for other in self._cluster.nodes:
            if other is not node:
                pairs += self._both(node, other)
        host = node.machine.host
        if fault.count % 3 == 0:
            pairs += [(host, ZOOKEEPER), (ZOOKEEPER, host)]
        if fault.count % 4 == 0:
            pairs += [(host, CLIENT_HOST), (CLIENT_HOST, host)]
        return self._cut(fault, pairs)

    def cut_zookeeper(self, node, fault):
        host = node.machine.host
        pairs = [(host, ZOOKEEPER), (ZOOKEEPER, host)]
        return self._cut(fault, pairs if fault.other % 3 else pairs[fault.count % 2 :][:1])

    def _both(self, node, other):
        if other is None:
            return []
        return [(node.machine.host, other.machine.host), (other.machine.host, node.machine.host)]

    def _cut(self, fault, pairs):
        for pair in pairs:
            self._network.cut(*pair)
        self._later(fault, lambda: [self._network.heal(*pair) for pair in pairs])
        return bool(pairs)

    def slow_node(self, node, fault):
        self._network.slow_hosts[node.machine.host] = fault.count * 4 * MS
        self._later(fault, lambda: self._network.slow_hosts.pop(node.machine.host, None))
        return True

    # ZooKeeper

    def expire_session(self, node, _fault):
        controller = node.process(Role.CONTROLLER)
        if controller is None or controller.process is None:
            return False
        session_id = controller.process._zk.session_id
        if session_id:
            self._cluster.ensemble.expire(session_id)
        return bool(session_id)

    def drop_zookeeper(self, _node, _fault):
        self._cluster.ensemble.drop_all()
        return True

    def zookeeper_away(self, _node, fault):
        ensemble = self._cluster.ensemble
        ensemble.is_up = False
        ensemble.drop_all()

        def come_back():
            ensemble.is_up = True

        self._later(fault, come_back)
        return True

    # Time

    def jump_clock(self, node, fault):
        node.machine.skew_ms += (fault.count - 30) * fault.span_ms
        return True
