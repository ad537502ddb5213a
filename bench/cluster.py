"""Three nodes beside three Apache Kafka brokers, each over a ZooKeeper of its own: replication, failover, the controller.

`python -m bench.cluster [--rounds 3] [--only produce,node,process,controller] [--servers kafka,headrace] [--partitions 10000]`

    produce      acks=all into 8 partitions of replication factor 3, all led by broker 1: requests/s, MB/s, and the CPU that brokers 2 and 3
                 take for each GB that they replicate
    node         the leader of some partitions is killed (SIGKILL, all its processes): from the end of its session in ZooKeeper until
                 each of them has acknowledged a record again
    process      single processes of the leading node are killed, 20 times: the longest time without an acknowledgement;
                 Apache Kafka has one process
    controller   with many partitions: from the loss of /controller until a topic is created and has leaders

Rounds alternate between the servers, each of which idles while the other is measured. What they do side by side with anything else on
the machine is noise: the spread of the rounds is printed beside the median.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.hammer import PARTITIONS, TOPIC, produce_request  # noqa: E402
from bench.nodes import KAFKA_JVM  # noqa: E402
from headrace.errors import HeadraceError  # noqa: E402
from headrace.protocol.apis import ApiKey  # noqa: E402
from headrace.protocol.codec import decode_response  # noqa: E402
from headrace.protocol.frames import parse_response_header  # noqa: E402
from tests.interop.mixed_cluster import MixedCluster, told_by  # noqa: E402

PARTS = ("produce", "node", "process", "controller")
LOADS = (("produce-1-all", 8, "requests_per_s"), ("produce-16k-all", 8, "mb_per_s"))
LEADER, FOLLOWERS = 1, (2, 3)
LED_PARTITIONS = 100
PROCESS_KILLS = 20
PROBE_PAUSE_S = 0.002
ANSWER_DEADLINE_S = 5.0
DEADLINE_S = 120.0
TOPICS_OF_MANY = 10
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(member: Any) -> float:
    """CPU seconds of a broker's process tree so far."""
    total = 0
    for pid in member.pids():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def create_topic(cluster: MixedCluster, topic: str, assignment: list[list[int]]) -> None:
    """Created, and in sync everywhere."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = NewTopic(topic, len(assignment), replica_assignment=assignment)
    admin.create_topics([wanted], request_timeout=DEADLINE_S)[topic].result(DEADLINE_S)
    cluster.wait_until_whole()


def hammer(member: Any, load: str, connections: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.hammer", member.bootstrap, load, str(connections), str(seconds)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure_produce(cluster: MixedCluster, seconds: float) -> dict[str, float]:
    """Rates of each load, and followers' CPU."""
    if TOPIC not in cluster.topics():
        create_topic(cluster, TOPIC, [[LEADER, *FOLLOWERS]] * PARTITIONS)
    found = {}
    for load, connections, unit in LOADS:
        before = [cpu_s(cluster.members[broker_id]) for broker_id in FOLLOWERS]
        result = hammer(cluster.members[LEADER], load, connections, seconds)
        took = [cpu_s(cluster.members[broker_id]) - cpu for broker_id, cpu in zip(FOLLOWERS, before, strict=True)]
        share = result["seconds"] / (result["seconds"] + 1.0)  # the warm-up second costs as much as the others
        gb = result["mb_per_s"] * result["seconds"] / 1000
        found[f"{load} {unit}"] = result[unit]
        if unit == "mb_per_s":
            found[f"{load} follower CPU s/GB"] = statistics.mean(took) * share / gb
    return found


class Prober:
    """Asks for one record at a time, acks=all, of the leader; each acknowledgement has a time."""

    def __init__(self, cluster: MixedCluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._socks: dict[int, socket.socket] = {}

    def is_acknowledged(self, index: int) -> bool:
        """One try at the partition's leader as ZooKeeper has it."""
        state = self._cluster.state(self._topic, index)
        if state is None or state["leader"] < 0:
            return False
        return self.ask(state["leader"], index)

    def ask(self, broker_id: int, index: int) -> bool:
        """One try at a broker."""
        frame, _count, _size = produce_request(index, "1-all", self._topic)
        try:
            answer = self._exchange(broker_id, frame)
        except (OSError, HeadraceError):
            self._forget(broker_id)
            return False
        return not answer.responses[0].partition_responses[0].error_code

    def _exchange(self, broker_id: int, frame: bytes) -> Any:
        sock = self._socks.get(broker_id)
        if sock is None:
            port = self._cluster.members[broker_id].port
            sock = self._socks[broker_id] = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_DEADLINE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(frame)
        size = int.from_bytes(_receive(sock, 4), "big")
        data = memoryview(_receive(sock, size))
        version = int.from_bytes(frame[6:8], "big")
        _correlation_id, position = parse_response_header(data, ApiKey.PRODUCE, version)
        return decode_response(ApiKey.PRODUCE, version, data[position:])

    def _forget(self, broker_id: int) -> None:
        sock = self._socks.pop(broker_id, None)
        if sock is not None:
            sock.close()

    def close(self) -> None:
        for broker_id in list(self._socks):
            self._forget(broker_id)


def _receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data


def measure_node(cluster: MixedCluster, _seconds: float) -> dict[str, float]:
    """The leader is killed; seconds from the end of its session."""
    topic = f"led-{time.monotonic_ns()}"
    create_topic(cluster, topic, [[LEADER, *FOLLOWERS]] * LED_PARTITIONS)
    prober = Prober(cluster, topic)
    for index in range(LED_PARTITIONS):
        assert prober.is_acknowledged(index)
    if cluster.controller() == LEADER:
        cluster.move_controller(FOLLOWERS)
    cluster.members[LEADER].end(signal.SIGKILL)
    _wait(lambda: not cluster.is_registered(LEADER), "its session does not end")
    begun = time.perf_counter()
    first = 0.0
    for index in range(LED_PARTITIONS):
        _wait(lambda index=index: prober.is_acknowledged(index), "no failover")  # type: ignore[misc]
        first = first or time.perf_counter() - begun
    elapsed = time.perf_counter() - begun
    prober.close()
    cluster.start_one(LEADER)
    cluster.wait_until_whole()
    return {"killed node: first partition s": first, f"killed node: {LED_PARTITIONS} partitions s": elapsed}


def measure_process(cluster: MixedCluster, _seconds: float) -> dict[str, float]:
    """Single processes of the leading node die; nothing for a broker of one process."""
    member = cluster.members[LEADER]
    if member.kind == "kafka":
        return {}
    topic = f"process-{time.monotonic_ns()}"
    create_topic(cluster, topic, [[LEADER, *FOLLOWERS]])
    prober = Prober(cluster, topic)
    gaps = []
    for _ in range(PROCESS_KILLS):
        _wait(lambda: prober.ask(LEADER, 0), "not served")
        pids = [pid for pid in member.pids() if pid != member.process.pid]
        last = time.perf_counter()
        os.kill(random.choice(pids), signal.SIGKILL)
        longest = 0.0
        until = last + 2.0
        while (now := time.perf_counter()) < until:
            if prober.ask(LEADER, 0):
                now = time.perf_counter()
                longest, last = max(longest, now - last), now
            time.sleep(PROBE_PAUSE_S)
        gaps.append(max(longest, time.perf_counter() - last))
    prober.close()
    cluster.wait_until_whole()
    gaps.sort()
    return {"killed process: median s": statistics.median(gaps), "killed process: worst of 20 s": gaps[-1]}


def measure_controller(cluster: MixedCluster, _seconds: float, partitions: int = 10_000) -> dict[str, float]:
    """/controller goes; seconds until a topic was created and has leaders everywhere."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic

    each = partitions // TOPICS_OF_MANY
    for number in range(TOPICS_OF_MANY):
        if f"many-{number}" not in cluster.topics():
            wanted = [[1 + (index + place) % 3 for place in range(3)] for index in range(each)]
            create_topic(cluster, f"many-{number}", wanted)
    topic = f"after-{time.monotonic_ns()}"
    cluster.keeper.delete("/controller")
    begun = time.perf_counter()
    while True:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        future = admin.create_topics([NewTopic(topic, 3, 3)], request_timeout=30)[topic]
        with contextlib.suppress(KafkaException):
            future.result(30)
            break
        assert time.perf_counter() < begun + DEADLINE_S
    _wait(lambda: all((topic, 0) in told_by(one) for one in cluster.members.values()), "not told everywhere")
    return {f"controller failover with {partitions:,} partitions s": time.perf_counter() - begun}


def _wait(condition: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(PROBE_PAUSE_S)


MEASURES: dict[str, Callable[..., dict[str, float]]] = {
    "produce": measure_produce,
    "node": measure_node,
    "process": measure_process,
    "controller": measure_controller,
}
AIMS = {  # Headrace's figure beside Kafka's: at least, or (negative) at most
    "produce-1-all requests_per_s": 1.2,
    "produce-16k-all mb_per_s": 1.2,
    "produce-16k-all follower CPU s/GB": -0.6,
    f"killed node: {LED_PARTITIONS} partitions s": -0.5,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--servers", default="kafka,headrace")
    parser.add_argument("--partitions", type=int, default=10_000, help="of the controller's failover")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}
    clusters = {}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-cluster-") as directory:
        try:
            for kind in arguments.servers.split(","):
                settings = {"log.index.size.max.bytes": "4096", "zookeeper.session.timeout.ms": "6000"}
                clusters[kind] = MixedCluster(Path(directory) / kind, [kind] * 3, settings=settings, jvm=KAFKA_JVM)
                clusters[kind].start()
            for part in arguments.only.split(","):
                extra = (arguments.partitions,) if part == "controller" else ()
                for _ in range(arguments.rounds):
                    for kind, cluster in clusters.items():
                        for what, figure in MEASURES[part](cluster, arguments.seconds, *extra).items():
                            results.setdefault(what, {}).setdefault(kind, []).append(figure)
                            print(f"{kind} {what} {figure:,.4g}", flush=True)
        finally:
            for cluster in clusters.values():
                cluster.close()
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results))
    return 0


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Medians, the spread of the rounds, ratios."""
    lines = ["| what | Headrace | Apache Kafka | ratio | aim |", "|---|---|---|---|---|"]
    for what, by_kind in results.items():
        ours, theirs = by_kind.get("headrace"), by_kind.get("kafka")
        ratio = f"{statistics.median(ours) / statistics.median(theirs):.2f}" if ours and theirs else ""
        aim = AIMS.get(what)
        said = "" if aim is None else f"at {'least' if aim > 0 else 'most'} {abs(aim)}"
        lines.append(f"| {what} | {_said(ours)} | {_said(theirs)} | {ratio} | {said} |")
    return "\n".join(lines)


def _said(figures: list[float] | None) -> str:
    if not figures:
        return ""
    return f"{statistics.median(figures):,.4g} ({min(figures):,.4g} to {max(figures):,.4g})"


if __name__ == "__main__":
    sys.exit(main())
