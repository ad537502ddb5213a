"""A cluster of three members of one kind, as `cluster.py` and `rehearsal.py` drive it: topics, what its members tell, CPU and memory.

Requests go over connections of our own, so that a time has nothing of a client's retries and refreshes in it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.nodes import KAFKA_JVM
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from tests.interop.mixed_cluster import MixedCluster

REPLICAS = 3
ALL = (1, 2, 3)
DEADLINE_S = 180.0
ANSWER_DEADLINE_S = 10.0
CREATE_DEADLINE_MS = 60_000
POLL_S = 0.002
SETTINGS = {  # what both kinds have by default, and `MixedCluster` makes smaller
    "log.segment.bytes": str(1 << 30),
    "num.network.threads": "3",
    "num.io.threads": "8",
    "log.cleaner.dedupe.buffer.size": "134217728",
    "zookeeper.session.timeout.ms": "6000",
}
_TICKS = os.sysconf("SC_CLK_TCK")
_PRODUCE_VERSION = 8
_BATCH = bytes(build_batch([(None, b"x" * 100)]))


def start_cluster(directory: Path, kind: str, settings: dict[str, str] | None = None) -> MixedCluster:
    """Three members that run. One that fails to start takes the others and ZooKeeper down with it."""
    cluster = MixedCluster(directory, [kind] * REPLICAS, settings={**SETTINGS, **(settings or {})}, jvm=KAFKA_JVM)
    try:
        cluster.start()
    except BaseException:
        close_cluster(cluster)
        raise
    return cluster


def close_cluster(cluster: MixedCluster) -> None:
    """All down, whatever state it is in: who does not stop is killed."""
    try:
        cluster.close()
    finally:
        for member in cluster.members.values():
            with contextlib.suppress(Exception):
                member.end(signal.SIGKILL)


def wait(condition: Callable[[], Any], complaint: str, poll_s: float = POLL_S) -> None:
    """raises   TimeoutError"""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(complaint)
        time.sleep(poll_s)


class Lines:
    """A connection to each member, opened when it is needed."""

    def __init__(self, cluster: MixedCluster) -> None:
        self._cluster = cluster
        self._open: dict[int, Connection] = {}

    def ask(
        self,
        broker_id: int,
        api_key: ApiKey,
        versions: tuple[int, int],
        request: Any,
        timeout_s: float = ANSWER_DEADLINE_S,
    ) -> Any:
        """None, where there is no answer."""
        try:
            line = self._open.get(broker_id)
            if line is None:
                port = self._cluster.members[broker_id].port
                line = self._open[broker_id] = Connection("127.0.0.1", port, ANSWER_DEADLINE_S)
            return line.request(api_key, line.version(api_key, *versions), request, timeout_s)
        except (ConnectionFailed, HeadraceError):
            self.drop(broker_id)
            return None

    def drop(self, broker_id: int) -> None:
        line = self._open.pop(broker_id, None)
        if line is not None:
            line.close()

    def close(self) -> None:
        for broker_id in list(self._open):
            self.drop(broker_id)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def told(self, broker_id: int, topic: str) -> list[Any]:
        """A topic's partitions, as one member tells of them; empty, where it knows none."""
        request = messages.MetadataRequest(
            topics=[messages.MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        answer = self.ask(broker_id, ApiKey.METADATA, (4, 8), request)
        if answer is None or answer.topics[0].error_code:
            return []
        return list(answer.topics[0].partitions)

    def acknowledged(self, broker_id: int, topic: str, indexes: Iterable[int], timeout_ms: int = 5_000) -> list[int]:
        """One record to each of some partitions, acks=all, in one request; those that acknowledged it."""
        kind = messages.ProduceRequest
        rows = [kind.PartitionProduceData(index, _BATCH) for index in indexes]
        request = kind(acks=-1, timeout_ms=timeout_ms, topic_data=[kind.TopicProduceData(topic, rows)])
        answer = self.ask(broker_id, ApiKey.PRODUCE, (_PRODUCE_VERSION, _PRODUCE_VERSION), request)
        if answer is None:
            return []
        return [row.index for row in answer.responses[0].partition_responses if not row.error_code]

    def create(self, broker_id: int, topics: dict[str, list[list[int]]], configs: dict[str, str] | None = None) -> int:
        """Create topics with their assignments, by a request to one member; the first error, -1 without an answer."""
        kind = messages.CreateTopicsRequest
        rows = [
            kind.CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[kind.CreatableReplicaAssignment(index, ids) for index, ids in enumerate(assignment)],
                configs=[kind.CreatableTopicConfig(key, value) for key, value in (configs or {}).items()],
            )
            for name, assignment in topics.items()
        ]
        request = kind(topics=rows, timeout_ms=CREATE_DEADLINE_MS)
        answer = self.ask(broker_id, ApiKey.CREATE_TOPICS, (2, 4), request, CREATE_DEADLINE_MS / 1000)
        if answer is None:
            return -1
        return next((row.error_code for row in answer.topics if row.error_code), 0)

    def create_at_controller(self, topics: dict[str, list[list[int]]], configs: dict[str, str] | None = None) -> None:
        """Ask the controller that ZooKeeper names, until it has done it. raises   TimeoutError, RuntimeError"""

        def is_done() -> bool:
            controller = self._cluster.controller()
            if controller is None:
                return False
            error = self.create(controller, topics, configs)
            if error in _NOT_YET:
                return False
            if error and error != ErrorCode.TOPIC_ALREADY_EXISTS:  # by a request whose answer was lost
                raise RuntimeError(f"topics not created: {ErrorCode(error).name}")
            return True

        wait(is_done, "topics are not created")

    def delete_at_controller(self, topic: str) -> None:
        """Delete a topic; returns when ZooKeeper has forgotten it. raises   TimeoutError"""
        request = messages.DeleteTopicsRequest(topic_names=[topic], timeout_ms=CREATE_DEADLINE_MS)
        controller = self._cluster.controller()
        if controller is not None:
            self.ask(controller, ApiKey.DELETE_TOPICS, (1, 3), request)
        wait(lambda: topic not in self._cluster.topics(), f"{topic} is not deleted", 0.05)

    def are_whole(self, broker_id: int, topic: str) -> bool:
        """Whether a member says that all replicas of all partitions are in sync."""
        partitions = self.told(broker_id, topic)
        return bool(partitions) and all(
            one.leader_id >= 0 and len(one.isr_nodes) == len(one.replica_nodes) for one in partitions
        )

    def wait_until_served(self, topics: Iterable[str]) -> None:
        """Return when each partition has acknowledged a record with acks=all: its logs are open everywhere. raises TimeoutError

        In sync is what a new topic is from its first state on, whether its logs are there yet or not.
        """
        left = dict.fromkeys(topics)
        served: dict[str, set[int]] = {topic: set() for topic in left}

        def is_done() -> bool:
            for topic in list(left):
                partitions = self.told(ALL[0], topic)
                by_leader: dict[int, list[int]] = {}
                for one in partitions:
                    if one.leader_id >= 0 and one.partition_index not in served[topic]:
                        by_leader.setdefault(one.leader_id, []).append(one.partition_index)
                for leader, indexes in by_leader.items():
                    served[topic].update(self.acknowledged(leader, topic, indexes))
                if partitions and len(served[topic]) == len(partitions):
                    del left[topic]
            return not left

        wait(is_done, f"not served: {list(left)}", 0.05)

    def wait_until_whole(self, topics: Iterable[str], members: Iterable[int] = ALL) -> None:
        """Return when each member says so of each topic; one that has said it once is not asked again. raises   TimeoutError"""
        left = {(broker_id, topic) for broker_id in members for topic in topics}

        def is_done() -> bool:
            for one in sorted(left):
                if self.are_whole(*one):
                    left.discard(one)
            return not left

        wait(is_done, f"not in sync: {sorted(left)[:5]}", 0.01)


_NOT_YET = (-1, ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_REPLICATION_FACTOR,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_SERVER_ERROR)  # fmt: skip


def cpu_s(member: Any) -> float:
    """CPU seconds of a broker's process tree so far."""
    return sum(process_cpu_s(pid) for pid in member.pids())


def process_cpu_s(pid: int) -> float:
    """Of one process; 0, where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def process_name(pid: int) -> str:
    """As `ps` has it; empty, where it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def peak_mb(pid: int) -> float:
    """The largest resident set of a process, shared memory included; 0, where it is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM:")), 0.0)
