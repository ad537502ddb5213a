"""What a change of the cluster costs the processes of a node, CPU alone: leaders that change, topics that come, and no change at all.

    python -m bench.control [--partitions 10000] [--topics 1,1000,10000] [--changes 200] [--idle 20] [--away]

The cluster has nine brokers, RF 3, and PARTITIONS partitions in TOPICS topics; this node holds 32 of them. The other eight
are names; in the second part they take what the controller tells them (`bench/brokers.py`), since a broker that is
registered and does not answer is sent everything again and again. `--away` shows what that costs.

1. The parts of each process that follow the view, as its loop calls them, in one process over real shared memory: one
   leader change, one new topic, all of it read by a process that begins. Medians of `process_time`. The controller's
   share is that of `ViewPublisher.publish`, without ZooKeeper.
2. A node over a ZooKeeper that has such a cluster: CPU of each process while nothing happens, as share of a core.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.brokers import ObedientBrokers
from bench.nodes import Headrace
from bench.partitions import processes
from headrace.clock import SystemClock
from headrace.controller.agent.view_publisher import ViewPublisher
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.cluster.view_room import ViewRoom
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import PartitionState, Registration, TopicAssignment
from headrace.settings import Settings
from headrace.shm.fabric import Fabric
from headrace.shm.seat import Seat
from headrace.workers.housekeeper.hosted import HostedReplicas
from headrace.workers.network.context import Context
from headrace.workers.partition.worker import PartitionWorker

BROKERS = 9  # with this one, which is 0
RF = 3
HERE = 32  # partitions that this node holds
DESCRIPTORS = 65_536
NODES_PER_COMMIT = 500
IDLE_BEFORE_S = 5.0
PROCESSES = ("network worker", "partition worker", "housekeeper", "controller process")

Change = Callable[[int], None]


class FakeCluster:
    """Topics as the controller process knows them, of brokers that are names.

    port   where all of them listen on this machine; None: they do not, and their names are nobody's
    """

    def __init__(self, partitions: int, topics: int, port: int | None = None) -> None:
        self.brokers = {
            node_id: Registration(node_id, *((f"host-{node_id}", 9092) if port is None else ("127.0.0.1", port)), None)
            for node_id in range(BROKERS)
        }
        self.partitions_each = partitions // topics
        self.left_here = HERE
        self.topics = {
            name: self.topic(name, self.partitions_each) for name in map("topic-{:05}".format, range(topics))
        }

    def topic(self, name: str, partitions: int) -> Topic:
        replicas = tuple(self._replicas(index) for index in range(partitions))
        states: list[PartitionState | None] = [PartitionState(row[0], 0, row, 1) for row in replicas]
        return Topic(name, znodes.new_uuid(), replicas, {"retention.ms": "86400000"}, states)

    def _replicas(self, index: int) -> tuple[int, ...]:
        others = tuple(1 + (index + place) % (BROKERS - 1) for place in range(RF))
        if self.left_here == 0:
            return others
        self.left_here -= 1
        return (0, *others[1:])


class Node:
    """The parts of a node's processes that follow the view, in this one."""

    def __init__(self, directory: Path, fake: FakeCluster) -> None:
        (directory / "logs").mkdir()
        settings = Settings(
            {
                "log.dirs": str(directory / "logs"),
                "headrace.network.workers": "1",
                "headrace.partition.workers": "1",
            }
        )
        self.fabric = Fabric.create(settings, host="127.0.0.1", port=9092)
        self.seats = [Seat(self.fabric.wiring, process_id) for process_id in range(4)]
        network, partition, controller, housekeeper = self.seats
        assert controller.view_writer is not None
        writer = controller.view_writer
        self.known = KnownCluster(0, writer.read(), settings["headrace.partitions.max"])
        self.publisher = ViewPublisher(self.known, ViewRoom(0, self.known.slots, writer), writer)
        self.known.set_cluster_id("bench")
        self.known.set_controller(1)
        self.known.set_brokers(fake.brokers)
        for topic in fake.topics.values():
            self.known.add(topic)
        self.fake = fake
        clock = SystemClock()
        self.context = Context(network, clock, DESCRIPTORS)
        self.worker = PartitionWorker(partition, clock)
        self.hosted = HostedReplicas(housekeeper, [directory / "logs"])

    def follow(self) -> list[float]:
        """Milliseconds of CPU of each process, in the order of PROCESSES but for the last."""
        return [_cpu_ms(self.context.follow_view), _cpu_ms(self.worker.do_work), _cpu_ms(lambda: list(self.hosted))]

    def publish(self) -> float:
        def publish() -> None:
            self.publisher.hurry()
            while self.publisher.publish(0):
                self.publisher.hurry()

        return _cpu_ms(publish)

    def settle(self) -> None:
        """Open what is to be opened; route to everything once, as clients would."""
        while self.worker.do_work():
            pass
        for name in self.fake.topics:
            self.context.routes.topic(name)

    def change_leader(self, number: int) -> None:
        topics = list(self.fake.topics.values())
        topic = topics[(number * 7919) % len(topics)]
        index = (number * 104729) % len(topic.states)
        state = topic.states[index]
        assert state is not None
        isr = state.isr[1:] or topic.replicas[index]
        changed = state._replace(leader=isr[0], leader_epoch=state.leader_epoch + 1, isr=isr)
        self.known.set_states(topic, {index: changed})

    def create_topic(self, number: int) -> None:
        name = f"new-{number:05}"
        self.fake.topics[name] = self.fake.topic(name, min(10, self.fake.partitions_each))
        self.known.add(self.fake.topics[name])

    def close(self) -> None:
        self.worker.close()
        for seat in self.seats:
            seat.detach()
        self.fabric.destroy()


def _cpu_ms(call: Callable[[], object]) -> float:
    begun = time.process_time_ns()
    call()
    return (time.process_time_ns() - begun) / 1e6


def bench_changes(partitions: int, topics: int, changes: int) -> dict[str, list[float]]:
    """Medians by what happens: each process's milliseconds of CPU, in the order of PROCESSES."""
    fake = FakeCluster(partitions, topics)
    with tempfile.TemporaryDirectory() as directory:
        node = Node(Path(directory), fake)
        try:
            published_ms = node.publish()
            found = {"everything, once": [*node.follow(), published_ms]}
            node.settle()
            gc.collect()
            gc.freeze()  # as the supervisor does before it forks
            idle = _medians([node.follow() for _ in range(20)])
            for what, change in (("one leader change", node.change_leader), ("one topic created", node.create_topic)):
                found[what] = [
                    max(0.0, taken - rest)
                    for taken, rest in zip(_measure(node, change, changes), (*idle, 0.0), strict=True)
                ]
            found["nothing (one cycle)"] = [*idle, 0.0]
            return found
        finally:
            gc.unfreeze()
            node.close()


def _measure(node: Node, change: Change, changes: int) -> list[float]:
    rows = []
    for number in range(changes):
        change(number)
        published_ms = node.publish()
        rows.append([*node.follow(), published_ms])
    return _medians(rows)


def _medians(rows: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*rows, strict=True)]


class IdleNode(Headrace):
    """A node that starts on a ZooKeeper that already has a cluster."""

    def __init__(self, directory: Path, fake: FakeCluster) -> None:
        super().__init__(directory, {"log.dirs": str(directory / "logs")})
        self._fake = fake

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._zookeeper.start()
        self._write()
        self.start_broker()

    def _write(self) -> None:
        from kazoo.client import KazooClient  # what the controller process uses; it has no business in other benches

        client: Any = KazooClient(self.zookeeper)
        client.start()
        for path in znodes.PERSISTENT_PATHS:
            client.ensure_path(path)
        nodes: list[tuple[str, bytes]] = [
            (znodes.broker_path(broker.node_id), znodes.encode_broker(broker.host, broker.port, None, 0))
            for broker in self._fake.brokers.values()
            if broker.node_id
        ]
        for topic in self._fake.topics.values():
            nodes.append(
                (znodes.topic_path(topic.name), znodes.encode_topic(TopicAssignment(topic.topic_id, topic.replicas)))
            )
            nodes.append((znodes.partitions_path(topic.name), b""))
            for index, state in enumerate(topic.states):
                assert state is not None
                nodes.append((znodes.partition_path(topic.name, index), b""))
                nodes.append((znodes.state_path(topic.name, index), znodes.encode_state(state)))
        for first in range(0, len(nodes), NODES_PER_COMMIT):
            transaction = client.transaction()
            for path, data in nodes[first : first + NODES_PER_COMMIT]:
                transaction.create(path, data)
            failures = [result for result in transaction.commit() if not isinstance(result, str)]
            if failures:
                raise SystemExit(f"the cluster was not written: {failures[0]}")
        client.stop()
        client.close()


def bench_idle(partitions: int, topics: int, seconds: float, is_away: bool) -> dict[str, float]:
    """Share of a core by process, in percent; and of all of them."""
    with tempfile.TemporaryDirectory() as directory, ObedientBrokers() as brokers:
        node = IdleNode(Path(directory) / "node", FakeCluster(partitions, topics, None if is_away else brokers.port))
        try:
            node.start()
            time.sleep(IDLE_BEFORE_S)
            before = processes(node)
            time.sleep(seconds)
            spent = {name: cpu_s - before[name][1] for name, (_pid, cpu_s) in processes(node).items()}
        finally:
            node.stop()
    return {
        **{name: 100 * cpu_s / seconds for name, cpu_s in sorted(spent.items())},
        "node": 100 * sum(spent.values()) / seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--topics", default="1,1000,10000", help="number of topics; several values mean several runs")
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument(
        "--idle", type=float, default=60.0, help="how many seconds to watch an idle node (0: start none)"
    )
    parser.add_argument("--away", action="store_true", help="register the other brokers, but let them not respond")
    parser.add_argument("--json", action="store_true", help="print all figures in the last line, as JSON")
    options = parser.parse_args()
    report: dict[str, Any] = {"changes": [], "idle": 0.0}
    print(f"{'CPU ms':<60}" + "".join(f"{name:>20}" for name in PROCESSES))
    for topics in map(int, options.topics.split(",")):
        for what, row in bench_changes(options.partitions, topics, options.changes).items():
            label = f"{options.partitions} partitions, {topics} topics: {what}"
            print(f"{label:<60}" + "".join(f"{value:>20.3f}" for value in row), flush=True)
            if what.startswith("one "):
                figures = zip(PROCESSES, row, strict=True)
                report["changes"] += [{"what": label, "process": name, "cpu_ms": value} for name, value in figures]
    if options.idle:
        shares = bench_idle(options.partitions, 1000, options.idle, options.away)
        report["idle"] = shares["node"]
        print("idle, % of a core: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items()))
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
