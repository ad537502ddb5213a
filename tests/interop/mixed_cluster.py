"""A cluster of Apache Kafka 3.9 brokers and Headrace nodes in any mix, over one ZooKeeper, whose members change places.

    DIRECTORY/zookeeper/           one server, as `headrace dev` has it
    DIRECTORY/1/server.properties  the same file for both kinds
    DIRECTORY/1/broker.log         both kinds' log lines, one after the other
    DIRECTORY/1/logs/              the log directory that goes from one kind to the other

A member keeps its id, its port and its directory for life; `swap` gives them to the other kind. Ports are taken below the range that
the kernel gives to outgoing connections: a member that is down would lose one of those to any client on the machine.
"""

import contextlib
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from bench.peers import jars
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import HeadraceError
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.shm.region import region_prefix, sweep
from tests.support import children

KINDS = ("kafka", "headrace")
START_DEADLINE_S = 90
STOP_DEADLINE_S = 60
WHOLE_DEADLINE_S = 90
LOOK_S = 0.1
FAIR_TRIES = 5  # elections before others are held
HELD_S = 3.0
PORTS = range(20_000, 32_000)
KAFKA_JVM = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")  # starts soon
LOG4J = """\
log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%d %p [kafka] %c: %m%n
log4j.logger.org.apache.zookeeper=WARN
log4j.logger.kafka.request.logger=WARN
log4j.logger.state.change.logger=INFO
"""
SETTINGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "replica.lag.time.max.ms": "10000",
    "zookeeper.session.timeout.ms": "8000",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "log.segment.bytes": "4000000",
    "log.segment.delete.delay.ms": "1000",
    "controlled.shutdown.retry.backoff.ms": "500",
}


class Member:
    """One broker id of the cluster: of one kind at a time."""

    def __init__(self, cluster, broker_id, kind, directory, port, room=None):
        self.cluster = cluster
        self.broker_id = broker_id
        self.kind = kind
        self.directory = directory
        self.room = room  # a network of its own, None: this machine's
        self.host = "127.0.0.1" if room is None else room.address
        self.port = port
        self.advertised_port = port
        self.zookeeper_connect = ""  # its own way there, where it is not everybody's
        self.settings = {}  # beside those of the cluster
        self.process = None

    @property
    def log_dir(self):
        return self.directory / "logs"

    @property
    def log_file(self):
        return self.directory / "broker.log"

    @property
    def bootstrap(self):
        return f"{self.host}:{self.port}"

    @property
    def is_up(self):
        return self.process is not None and self.process.poll() is None

    def spawn(self):
        """Start the process without waiting for it to serve."""
        assert not self.is_up
        self.directory.mkdir(parents=True, exist_ok=True)
        properties = self.directory / "server.properties"
        given = {
            "broker.id": str(self.broker_id),
            "listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "advertised.listeners": f"PLAINTEXT://{self.host}:{self.advertised_port}",
            "log.dirs": str(self.log_dir),
            "zookeeper.connect": self.zookeeper_connect or self.cluster.zookeeper,
            **self.cluster.settings,
            **self.settings,
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        if self.kind == "kafka":
            command = [
                "java", *self.cluster.jvm, f"-Djava.io.tmpdir={self.directory}", f"-Dlog4j.configuration=file:{self.cluster.log4j}", "-cp",
                ":".join(map(str, jars("kafka"))), "kafka.Kafka", str(properties),
            ]  # fmt: skip
        else:
            command = [sys.executable, "-m", "headrace.cli.main", "start", str(properties)]
        if self.room is not None:
            command = self.room.command(command)
        with open(self.log_file, "ab") as log:
            log.write(f"--- {self.kind} starts\n".encode())
            log.flush()
            self.process = children.start(command, stdout=log, stderr=log)

    def pids(self):
        """The process tree."""
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            with contextlib.suppress(OSError):
                left += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found

    def end(self, number=signal.SIGTERM):
        """End it by a signal, all of its processes where that is SIGKILL; returns the exit code, None where it was down."""
        if not self.is_up:
            return None
        if number == signal.SIGKILL:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        else:
            self.process.send_signal(number)
        try:
            code = self.process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.end(signal.SIGKILL)
            raise AssertionError(f"{self.kind} {self.broker_id} did not stop in {STOP_DEADLINE_S} s") from None
        if number == signal.SIGKILL and self.kind == "headrace":
            sweep(region_prefix(self.broker_id, self.log_dir))
        return code


class MixedCluster:
    """Members by broker id.

    kinds      of the brokers 1, 2, 3
    settings   for all, over SETTINGS
    jvm        Kafka's flags
    networks   of their own for the members (`chaos/network_rooms.py`)
    """

    def __init__(self, directory, kinds, ibp="3.9", settings=None, jvm=KAFKA_JVM, networks=None):
        self.directory = Path(directory)
        self.jvm = jvm
        self.settings = {**SETTINGS, "inter.broker.protocol.version": ibp, **(settings or {})}
        place = (free_ports(1)[0], networks.zookeeper) if networks else ()
        self._server = EmbeddedZooKeeper(self.directory / "zookeeper", *place)
        self._server.start()
        self.log4j = self.directory / "log4j.properties"
        self.log4j.write_text(LOG4J)
        self.keeper = KazooClient(self.zookeeper)
        self.keeper.start()
        self.members = {
            broker_id: Member(self, broker_id, kind, self.directory / str(broker_id), port, room)
            for (broker_id, kind), port, room in zip(
                enumerate(kinds, 1),
                free_ports(len(kinds)),
                networks.rooms if networks else [None] * len(kinds),
                strict=True,
            )
        }

    @property
    def zookeeper(self):
        return self._server.connect

    @property
    def bootstrap(self):
        return ",".join(f"{member.host}:{member.advertised_port}" for member in self.members.values())

    def start(self, controller=None):
        """Start all side by side; with `controller`, that one first, so that it wins. All of them know who it is then: a librdkafka
        that first asks one which does not waits for it for a minute."""
        if controller is not None:
            self.members[controller].spawn()
            self.wait_for_start(controller)
        for member in self.members.values():
            if not member.is_up:
                member.spawn()
        for broker_id in self.members:
            self.wait_for_start(broker_id)
        self.wait_until(
            lambda: all(metadata_of(member).controller_id >= 0 for member in self.members.values()),
            "not every member tells a controller",
        )

    def start_one(self, broker_id):
        self.members[broker_id].spawn()
        self.wait_for_start(broker_id)

    def wait_for_start(self, broker_id):
        """Return when a member is registered and answers."""
        member = self.members[broker_id]
        deadline = time.monotonic() + START_DEADLINE_S
        while not (self.is_registered(broker_id) and _answers(member)):
            tail = f"{member.kind} {broker_id}: {tail_of(member.log_file)}"
            assert member.is_up, f"it ended with {member.process.returncode}; {tail}"
            assert time.monotonic() < deadline, f"not up in {START_DEADLINE_S} s; {tail}"
            time.sleep(LOOK_S)

    def stop_one(self, broker_id, number=signal.SIGTERM):
        """Stop a member, and wait until ZooKeeper has forgotten it: at once, or when its session expires."""
        member = self.members[broker_id]
        code = member.end(number)
        self.wait_until(lambda: not self.is_registered(broker_id), f"{broker_id} is still registered")
        if number == signal.SIGTERM:
            assert code in (0, 143), f"{member.kind} {broker_id} ended with {code}"
        return code

    def swap(self, broker_id, kind, number=signal.SIGTERM):
        """A broker of a kind takes a member's place: its id, its port, its log directory."""
        self.stop_one(broker_id, number)
        self.members[broker_id].kind = kind
        self.start_one(broker_id)

    def close(self):
        """All down: brokers side by side, then ZooKeeper."""
        for member in self.members.values():
            if member.is_up:
                member.process.send_signal(signal.SIGTERM)
        for member in self.members.values():
            if member.is_up:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    member.process.wait(20)
                member.end(signal.SIGKILL)
        self.keeper.stop()
        self.keeper.close()
        self._server.stop()

    # What ZooKeeper says

    def read(self, path):
        """The JSON of a znode, None where there is none."""
        try:
            return json.loads(self.keeper.get(path)[0])
        except NoNodeError:
            return None

    def is_registered(self, broker_id):
        return self.keeper.exists(f"/brokers/ids/{broker_id}") is not None

    def controller(self):
        """The active controller's broker id, None while there is none."""
        found = self.read("/controller")
        return None if found is None else found["brokerid"]

    def controller_epoch(self):
        return int(self.keeper.get("/controller_epoch")[0])

    def move_controller(self, wanted):
        """Take the controller away from whoever has it, until it is one of `wanted`.

        The others stand still while the next is elected, once they were faster: one that is reached over a proxy always loses.
        """
        wanted = set(wanted)
        tries = itertools.count(1)

        def is_there():
            if self.controller() in wanted:
                return True
            others = [one for broker_id, one in self.members.items() if broker_id not in wanted]
            with contextlib.nullcontext() if next(tries) < FAIR_TRIES else _held(others):
                with contextlib.suppress(NoNodeError):
                    self.keeper.delete("/controller")
                until = time.monotonic() + HELD_S
                while self.controller() is None and time.monotonic() < until:
                    time.sleep(LOOK_S)
            self.wait_until(lambda: self.controller() is not None, "nobody is elected")
            return self.controller() in wanted

        self.wait_until(is_there, lambda: f"the controller does not come to {wanted}")
        return self.controller()

    def topics(self):
        return sorted(self.keeper.get_children("/brokers/topics"))

    def assignment(self, topic):
        """{partition: replicas}, empty where there is no such topic."""
        found = self.read(f"/brokers/topics/{topic}")
        return {} if found is None else {int(index): replicas for index, replicas in found["partitions"].items()}

    def state(self, topic, index):
        return self.read(f"/brokers/topics/{topic}/partitions/{index}/state")

    def not_whole(self):
        """Partitions whose ISR lacks a replica, or whose leader is no member of it."""
        found = []
        for topic in self.topics():
            for index, replicas in self.assignment(topic).items():
                state = self.state(topic, index)
                if state is None or set(state["isr"]) != set(replicas) or state["leader"] not in state["isr"]:
                    found.append((topic, index, replicas, state))
        return found

    def wait_until_whole(self):
        """Return when every replica of every partition is in sync, and each member tells clients so."""
        self.wait_until(lambda: not self.not_whole(), lambda: f"not whole: {self.not_whole()}")
        self.wait_until(lambda: not self.disagreements(), lambda: f"members disagree: {self.disagreements()}")

    def disagreements(self):
        """(member, topic, partition, what it tells, what ZooKeeper has), where those differ in leader or ISR."""
        found = []
        for member in self.members.values():
            if not member.is_up:
                continue
            told = told_by(member)
            for topic in self.topics():
                for index in self.assignment(topic):
                    state = self.state(topic, index)
                    truth = None if state is None else (state["leader"], frozenset(state["isr"]))
                    if told.get((topic, index)) != truth:
                        found.append((member.broker_id, topic, index, told.get((topic, index)), truth))
        return found

    def wait_until(self, condition, complaint):
        deadline = time.monotonic() + WHOLE_DEADLINE_S
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(complaint() if callable(complaint) else complaint)
            time.sleep(LOOK_S)
        return found


@contextlib.contextmanager
def _held(members):
    """Stopped for a moment, all their processes."""
    pids = [pid for member in members if member.is_up for pid in member.pids()]
    try:
        _signal(pids, signal.SIGSTOP)
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def metadata_of(member):
    """One member's own Metadata, of all topics; an empty one where it does not answer."""
    try:
        connection = Connection(member.host, member.port, timeout_s=10)
    except (ConnectionFailed, HeadraceError):
        return messages.MetadataResponse()
    try:
        version = connection.version(ApiKey.METADATA, 1, 8)
        return connection.request(ApiKey.METADATA, version, messages.MetadataRequest(topics=None))
    except HeadraceError:
        return messages.MetadataResponse()
    finally:
        connection.close()


def told_by(member):
    """{(topic, partition): (leader, ISR)} as one member's own Metadata tells them; empty where it does not answer."""
    return {
        (topic.name, partition.partition_index): (partition.leader_id, frozenset(partition.isr_nodes))
        for topic in metadata_of(member).topics
        for partition in topic.partitions
    }


def free_ports(count):
    """Ports that nobody listens on, below those that the kernel hands out."""
    found = []
    while len(found) < count:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


def tail_of(path, characters=3000):
    return path.read_text(errors="replace")[-characters:]


def _answers(member):
    try:
        Connection(member.host, member.port, timeout_s=2).close()
    except (ConnectionFailed, HeadraceError):
        return False
    return True
