"""What creating topics costs, and what it holds up: a real node over a real ZooKeeper.

    python -m bench.topic_creation [--single 30] [--many 1000] [--crowd 15000] [--followed 8] [--json]

1. Milliseconds until CreateTopics of one topic is answered: its partition is served by this node.
2. Topics a second of one request with many topics, whose partitions this node serves.
3. A crowd in one request, whose partitions other brokers hold; while it is carried out, other brokers die one by one:
   milliseconds from the end of the broker's session until the cluster view of this node shows the next leader.

The other brokers are registrations, each in a session of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bench.nodes import Headrace
from headrace.client.connection import Connection
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.shm.observer import Observer

FIRST_BROKER = 1
HOLDER = 99  # of the crowd
VERSION = 4
CREATE_MS = 600_000
FOLLOWED_DEADLINE_S = 30.0
POLL_S = 0.0005
SETTINGS = {"headrace.network.workers": "1", "headrace.partition.workers": "1"}

Request = messages.CreateTopicsRequest


def topic(name: str, *brokers: int) -> Request.CreatableTopic:
    """One partition, where it is notified, or on this node."""
    rows = [Request.CreatableReplicaAssignment(partition_index=0, broker_ids=list(brokers))] if brokers else []
    count = -1 if brokers else 1
    return Request.CreatableTopic(name=name, num_partitions=count, replication_factor=count, assignments=rows)


class Bench:
    """A node, and brokers that are names."""

    def __init__(self, directory: Path) -> None:
        self.node = Headrace(directory / "node", {**SETTINGS, "log.dirs": str(directory / "logs")})
        (directory / "logs").mkdir(parents=True)
        self.node.start()
        self._log_dir = directory / "logs"
        self._brokers: dict[int, Any] = {}

    def close(self) -> None:
        for client in self._brokers.values():
            client.stop()
            client.close()
        self.node.stop()

    def connect(self) -> Connection:
        host, _, port = self.node.bootstrap.rpartition(":")
        return Connection(host, int(port), timeout_s=CREATE_MS / 1000)

    def add_broker(self, broker: int) -> None:
        from kazoo.client import KazooClient  # as in bench/control.py

        client: Any = KazooClient(self.node.zookeeper, timeout=30)
        client.start()
        fields = {
            "features": {}, "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "endpoints": [f"PLAINTEXT://127.0.0.1:{broker}"], "jmx_port": -1, "port": broker, "host": "127.0.0.1",
            "version": 5, "timestamp": "0",
        }  # fmt: skip
        client.create(f"/brokers/ids/{broker}", json.dumps(fields).encode(), ephemeral=True)
        self._brokers[broker] = client

    def end_broker(self, broker: int) -> None:
        client = self._brokers.pop(broker)
        client.stop()
        client.close()

    def create(self, connection: Connection, topics: list[Request.CreatableTopic]) -> tuple[float, int]:
        """Seconds, and how many were refused."""
        begun = time.perf_counter()
        response = connection.request(
            ApiKey.CREATE_TOPICS, VERSION, Request(topics=topics, timeout_ms=CREATE_MS), timeout_s=CREATE_MS / 1000
        )
        return time.perf_counter() - begun, sum(row.error_code != 0 for row in response.topics)

    def observe(self) -> Observer:
        return Observer(self._log_dir)

    def wait_brokers(self, count: int) -> None:
        with self.observe() as observer:
            while len(observer._view.read().brokers) < count:
                time.sleep(0.01)

    def followed_ms(self, observer: Observer, broker: int) -> float:
        """End a broker; until its partition has another leader in the view."""
        name = f"led-{broker}"
        begun = time.perf_counter()
        self.end_broker(broker)
        while observer._view.read().topics[name].partitions[0].leader == broker:
            if time.perf_counter() - begun > FOLLOWED_DEADLINE_S:
                return FOLLOWED_DEADLINE_S * 1000
            time.sleep(POLL_S)
        return (time.perf_counter() - begun) * 1000


def run(single: int, many: int, crowd: int, followed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory))
        try:
            connection = bench.connect()
            bench.create(connection, [topic("first")])
            alone_ms = [bench.create(connection, [topic(f"single-{index}")])[0] * 1000 for index in range(single)]
            many_s, many_refused = bench.create(connection, [topic(f"many-{index}") for index in range(many)])
            brokers = range(FIRST_BROKER, FIRST_BROKER + followed)
            for broker in (*brokers, HOLDER):
                bench.add_broker(broker)
            bench.wait_brokers(followed + 2)
            bench.create(connection, [topic(f"led-{broker}", broker, 0) for broker in brokers])
            answer: list[tuple[float, int]] = []
            rows = [topic(f"crowd-{index}", HOLDER) for index in range(crowd)]
            thread = threading.Thread(target=lambda: answer.append(bench.create(connection, rows)))
            took_ms = []
            with bench.observe() as observer:
                observer._view.read()
                thread.start()
                time.sleep(1.0)
                for broker in brokers:
                    if answer:
                        break
                    took_ms.append(bench.followed_ms(observer, broker))
                    time.sleep(0.2)
            thread.join()
            [(crowd_s, crowd_refused)] = answer
            connection.close()
        finally:
            bench.close()
    return {
        "single_ms": statistics.median(alone_ms),
        "many_per_s": many / many_s,
        "crowd_per_s": (crowd - crowd_refused) / crowd_s,
        "refused": many_refused + crowd_refused,
        "followed_ms": [round(one, 1) for one in took_ms],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--single", type=int, default=30)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--crowd", type=int, default=15_000)
    parser.add_argument("--followed", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="print all figures in the last line, as JSON")
    options = parser.parse_args()
    found = run(options.single, options.many, options.crowd, options.followed)
    print(f"CreateTopics of one topic: {found['single_ms']:.1f} ms")
    print(f"one request of {options.many}: {found['many_per_s']:.0f} topics/s")
    print(f"one request of {options.crowd}: {found['crowd_per_s']:.0f} topics/s, refused {found['refused']}")
    print(f"leader changes followed meanwhile, ms: {found['followed_ms']}")
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
