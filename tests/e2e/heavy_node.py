"""A node, clients of its processes that ask one small thing again and again, and what they wait for while a heavy request is carried out.

network     an ApiVersions: the network worker alone
controller  a ListPartitionReassignments of a topic that is not there
partition   a ListGroups, which each partition worker answers
"""

import contextlib
import socket
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

from kazoo.client import KazooClient

from headrace.client.connection import Connection, ConnectionFailed
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from tests.conftest import start_node
from tests.support.blown_requests import Known, build
from tests.support.waiting import wait_until

TOPIC, PARTITIONS, GROUP = "t", 200, "g"
SETTINGS = (
    "headrace.network.workers=1",
    "headrace.partition.workers=1",
    "auto.create.topics.enable=false",
    "group.initial.rebalance.delay.ms=0",
    "headrace.worker.hang.timeout.ms=120000",
)
TELLING = (ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA)
ANSWER_S_MAX = 120
PAUSE_S = 0.005  # between two questions of a client
CALM_S = 0.1  # the longest wait of a client before a request is sent


class Weight(NamedTuple):
    """What a request cost.

    wait_s   the longest that another client waited, by what it asked for
    cpu_s    by process
    answer   bytes; None: the connection was closed
    """

    wait_s: dict
    cpu_s: dict
    took_s: float
    answer: int | None


class Other(threading.Thread):
    """A client that asks all the time."""

    def __init__(self, address, api_key, version, message):
        super().__init__(daemon=True)
        self._address = address
        self._what = api_key, version, message
        self._since = time.monotonic()
        self._longest = 0.0
        self._is_over = False

    def run(self):
        while not self._is_over:
            with contextlib.suppress(ConnectionFailed):
                connection = Connection(*self._address, timeout_s=ANSWER_S_MAX)
                while not self._is_over:
                    self._since = time.monotonic()
                    connection.request(*self._what)
                    self._longest = max(self._longest, time.monotonic() - self._since)
                    self._since = time.monotonic()
                    time.sleep(PAUSE_S)
                connection.close()

    def take_longest(self):
        """The longest wait since the last call, that which is going on too."""
        longest, self._longest = max(self._longest, time.monotonic() - self._since), 0.0
        return longest

    def end(self):
        self._is_over = True
        self.join(ANSWER_S_MAX)


class HeavyNode:
    """One with a topic and a group."""

    def __init__(self, directory):
        self._node = start_node(directory, *SETTINGS)
        self.address = self._node.address
        self._zookeeper = KazooClient(self._node.zookeeper)
        self._zookeeper.start()
        self._others = {
            "network": Other(self.address, ApiKey.API_VERSIONS, 0, messages.ApiVersionsRequest()),
            "controller": Other(self.address, ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, _reassignments_of("of no topic")),
            "partition": Other(self.address, ApiKey.LIST_GROUPS, 0, messages.ListGroupsRequest()),
        }
        self._leader_epoch = 1_000  # that it was told last
        self.known = self._known({})
        for other in self._others.values():
            other.start()
        self._wait_calm()

    def close(self):
        for other in self._others.values():
            other.end()
        self._zookeeper.stop()
        self._zookeeper.close()
        self._node.stop()

    def weigh(self, kind, rows):
        """Send a request of a kind, wait for its answer and until the others are served as before."""
        self.known = self._known(self._fields(kind.api_key))
        message = build(kind, rows, self.known)
        frame = build_request(kind.api_key, kind.version, 7, "heavy", message)
        self._wait_calm()
        before = self._cpu_s()
        began = time.monotonic()
        answer = self._ask(frame)
        took_s = time.monotonic() - began
        waits = self._wait_calm()
        after = self._cpu_s()
        if kind.api_key in TELLING:
            self._correct()
        assert before.keys() == after.keys(), (str(kind), "a process died")
        return Weight(waits, {name: after[name] - before[name] for name in after}, took_s, answer)

    def _fields(self, api_key):
        if api_key == ApiKey.SYNC_GROUP:
            return self._member()
        if api_key in TELLING:  # what is newer than what is known is taken
            self._leader_epoch += 1
            return {"leader_epoch": self._leader_epoch}
        return {}

    def _correct(self):
        """What it was told of its replicas is not true: tell it what is."""
        self._leader_epoch += 1
        request = messages.LeaderAndIsrRequest
        state = request.LeaderAndIsrPartitionState(
            leader=0,
            leader_epoch=self._leader_epoch,
            isr=[0],
            replicas=[0],
            controller_epoch=self._epochs()["controller_epoch"],
        )
        topic = request.LeaderAndIsrTopicState(TOPIC, self.known.topic_id, [state])
        head = {name: self._epochs()[name] for name in ("controller_id", "controller_epoch", "broker_epoch")}
        connection = Connection(*self.address, timeout_s=ANSWER_S_MAX)
        try:
            answer = connection.request(ApiKey.LEADER_AND_ISR, 7, request(**head, topic_states=[topic]))
            assert not answer.error_code
        finally:
            connection.close()

    def _ask(self, frame):
        try:
            with socket.create_connection(self.address, timeout=ANSWER_S_MAX) as connection:
                connection.sendall(frame)
                head = connection.recv(4, socket.MSG_WAITALL)
                if len(head) < 4:
                    return None
                size = left = struct.unpack(">i", head)[0]
                while left:
                    left -= len(connection.recv(min(left, 1 << 20)))
                return size
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            return None

    def _wait_calm(self):
        """Wait until nobody waits for long; returns the longest waits until then."""
        longest = dict.fromkeys(self._others, 0.0)

        def is_calm():
            time.sleep(0.02)
            waits = {name: other.take_longest() for name, other in self._others.items()}
            for name, wait in waits.items():
                longest[name] = max(longest[name], wait)
            return max(waits.values()) < CALM_S

        wait_until(is_calm, lambda: f"somebody still waits: {longest}")
        return longest

    def _cpu_s(self):
        found = {}
        for name, pid in self._node.pids().items():
            if name.startswith("hr-"):
                found[name, pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
        return found

    def _known(self, fields):
        connection = Connection(*self.address)
        try:
            topic = self._topic(connection)
            if topic is None:
                request = messages.CreateTopicsRequest(
                    topics=[messages.CreateTopicsRequest.CreatableTopic(TOPIC, PARTITIONS, 1)], timeout_ms=30_000
                )
                connection.request(ApiKey.CREATE_TOPICS, 5, request)
                topic = wait_until(lambda: self._topic(connection))
            return Known(TOPIC, topic, PARTITIONS, GROUP, 0, {**self._epochs(), **fields})
        finally:
            connection.close()

    def _topic(self, connection):
        wanted = messages.MetadataRequest(topics=[messages.MetadataRequest.MetadataRequestTopic(name=TOPIC)])
        topic = connection.request(ApiKey.METADATA, 12, wanted).topics[0]
        return None if topic.error_code else topic.topic_id

    def _epochs(self):
        epoch = int(self._zookeeper.get("/controller_epoch")[0])
        return {
            "controller_id": 0,
            "controller_epoch": epoch,
            "leader_epoch": 0,
            "leader": 0,
            "broker_epoch": self._zookeeper.get("/brokers/ids/0")[1].czxid,
        }

    def _member(self):
        """The leader of a new generation, which has no assignments yet."""
        request = messages.JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=[messages.JoinGroupRequest.JoinGroupRequestProtocol("x", b"x")],
        )
        connection = Connection(*self.address)
        try:
            leave = messages.DeleteGroupsRequest(groups_names=[GROUP])
            connection.request(ApiKey.DELETE_GROUPS, 0, leave)
            answer = connection.request(ApiKey.JOIN_GROUP, 2, request)
            return {"member_id": answer.member_id, "generation_id": answer.generation_id, "protocol_name": "x"}
        finally:
            connection.close()


def _reassignments_of(topic):
    rows = [messages.ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(topic, [0])]
    return messages.ListPartitionReassignmentsRequest(topics=rows, timeout_ms=1_000)
