"""The controller dies right after its n-th write to ZooKeeper, for each n, in the middle of an operation; a successor completes it.

`python -m tests.interop.killed_controller OPERATION VICTIM SUCCESSOR [--ibp 3.9] [--first 1] [--last N]`, kinds `kafka` or
`headrace`: broker 1 is the victim's kind, 2 and 3 the successor's. The victim reaches ZooKeeper through a `WriteCutter`; after the
cut it is killed with all of its processes, its session ended, and once there is a successor it comes back as a mere broker (an
operation may need it). A round in which the operation is whole before the n-th write ends the series: then the death has fallen
after each write.
"""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.interop.broker_logs import OF_A_KILLED_CONTROLLER, severe_lines
from tests.interop.mixed_cluster import KINDS, MixedCluster
from tests.interop.write_cutter import WriteCutter

VICTIM = 1
SUCCESSORS = (2, 3)
ROUNDS_MAX = 40
CREATE_TRIES_S = 60
THROTTLED_RECORDS = 4_000  # of 1,000 bytes: more than a fetch brings
TARGET = {0: [2, 3], 1: [3, 1]}  # of a reassignment; before: 0: [1, 2], 1: [2, 3]


class Operation:
    """Something that the controller does in several writes.

    topic          of this round
    begins_whole   whether all ISRs are whole when it begins
    """

    begins_whole = True

    def __init__(self, cluster, topic):
        self.cluster = cluster
        self.topic = topic

    def prepare(self):
        """Before the writes count."""
        self.create([[1, 2], [2, 3]])
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "acks": "all", "log_level": 2})
        for index in (0, 1):
            producer.produce(self.topic, b"a record", partition=index)
        assert producer.flush(60) == 0

    def begin(self):
        raise AssertionError("each operation has its own")

    def retry(self):
        """What a client does whose request may have died with the controller."""

    def is_done(self):
        raise AssertionError("each operation has its own")

    def create(self, assignment):
        """Until it is there, whoever dies meanwhile."""
        deadline = time.monotonic() + CREATE_TRIES_S
        while True:
            try:
                ask_for_topic(self.cluster, self.topic, assignment).result(60)
                break
            except KafkaException as failure:
                if failure.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    break
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        self.cluster.wait_until(lambda: not self.not_whole(), lambda: f"not created: {self.not_whole()}")

    def not_whole(self):
        return [one for one in self.cluster.not_whole() if one[0] == self.topic]


def ask_for_topic(cluster, topic, assignment):
    """A future."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    wanted = NewTopic(topic, len(assignment), replica_assignment=assignment)
    return _Kept(admin, admin.create_topics([wanted], request_timeout=30, operation_timeout=20)[topic])


class _Kept:
    """A future, and the client that it dies without."""

    def __init__(self, admin, future):
        self._admin = admin
        self._future = future

    def result(self, timeout_s):
        return self._future.result(timeout_s)


class Creation(Operation):
    REPLICAS = ((1, 2, 3), (2, 3, 1))

    def prepare(self):
        """Nothing is there."""

    def begin(self):
        self._asked = ask_for_topic(self.cluster, self.topic, list(map(list, self.REPLICAS)))

    def retry(self):
        self.create(list(map(list, self.REPLICAS)))

    def is_done(self):
        return self.topic in self.cluster.topics() and not self.not_whole()


class Deletion(Operation):
    def begin(self):
        self.cluster.keeper.create(f"/admin/delete_topics/{self.topic}")

    def is_done(self):
        keeper = self.cluster.keeper
        names = [f"{folder}/{self.topic}" for folder in ("/admin/delete_topics", "/brokers/topics", "/config/topics")]
        if any(keeper.exists(name) for name in names):
            return False
        return not [
            path
            for member in self.cluster.members.values()
            for path in member.log_dir.glob(f"{self.topic}-*")
            if not path.name.endswith("-delete")
        ]


class Reassignment(Operation):
    """By the znode: both partitions change replicas, one its leader too."""

    def begin(self):
        partitions = [
            {"topic": self.topic, "partition": index, "replicas": replicas} for index, replicas in TARGET.items()
        ]
        wanted = {"version": 1, "partitions": partitions}
        self.cluster.keeper.create("/admin/reassign_partitions", json.dumps(wanted).encode())

    def is_done(self):
        if self.cluster.keeper.exists("/admin/reassign_partitions"):
            return False
        node = self.cluster.read(f"/brokers/topics/{self.topic}")
        if node["adding_replicas"] or node["removing_replicas"] or self.cluster.assignment(self.topic) != TARGET:
            return False
        if self.not_whole():
            return False
        there = {
            (member.broker_id, int(path.name.rpartition("-")[2]))
            for member in self.cluster.members.values()
            for path in member.log_dir.glob(f"{self.topic}-?")
        }
        wanted = {(broker_id, index) for index, replicas in TARGET.items() for broker_id in replicas}
        left = {(VICTIM, 0)}  # one that was down when its replica went is not told so (ZooKeeper mode)
        if self.cluster.members[VICTIM].kind == "kafka":
            left.add((2, 1))  # it may die before the broker is told, the end written: nobody else knows of the files
        return there - left == wanted


class Election(Operation):
    """Preferred leaders by the znode, after a reassignment that left both partitions led by others."""

    def prepare(self):
        super().prepare()
        wanted = {"version": 1, "partitions": [
            {"topic": self.topic, "partition": 0, "replicas": [2, 1]}, {"topic": self.topic, "partition": 1, "replicas": [3, 2]},
        ]}  # fmt: skip
        self.cluster.keeper.create("/admin/reassign_partitions", json.dumps(wanted).encode())
        self.cluster.wait_until(lambda: not self.cluster.keeper.exists("/admin/reassign_partitions"), "not reordered")

    def begin(self):
        partitions = [{"topic": self.topic, "partition": index} for index in (0, 1)]
        wanted = {"version": 1, "partitions": partitions}
        self.cluster.keeper.create("/admin/preferred_replica_election", json.dumps(wanted).encode())

    def is_done(self):
        if self.cluster.keeper.exists("/admin/preferred_replica_election"):
            return False
        states = [self.cluster.state(self.topic, index) for index in (0, 1)]
        return [one["leader"] for one in states] == [2, 3] and all(len(one["isr"]) == 2 for one in states)


class Cancellation(Operation):
    """Of a reassignment that a throttle holds: the replica that it adds has a part of the log by then."""

    begins_whole = False

    def prepare(self):
        self.create([[1, 2], [2, 3]])
        cluster = self.cluster
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 2})
        for _ in range(THROTTLED_RECORDS):
            producer.produce(self.topic, b"x" * 1000, partition=0)
        assert producer.flush(60) == 0
        self._set_throttle(cluster, f"{self.topic}", "1")
        self._ask([1, 2, 3])
        cluster.wait_until(lambda: cluster.read(f"/brokers/topics/{self.topic}")["adding_replicas"], "not started")
        cluster.wait_until(self._is_there, "no new replica")

    def begin(self):
        self._ask(None)

    def retry(self):
        """As a client does that got no answer; it may be cancelled already."""
        self._ask(None)

    def is_done(self):
        node = self.cluster.read(f"/brokers/topics/{self.topic}")
        if node["adding_replicas"] or node["removing_replicas"] or set(node["partitions"]["0"]) != {1, 2}:
            return False
        if self.not_whole():
            return False
        is_ours = all(member.kind == "headrace" for member in self.cluster.members.values())
        return (
            not is_ours or not self._is_there()
        )  # Kafka leaves it where its controller died (KAFKA-13972 is about another way)

    def _is_there(self):
        return (self.cluster.members[3].log_dir / f"{self.topic}-0").is_dir()

    def _set_throttle(self, cluster, topic, rate):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        wanted = ConfigResource(ConfigResource.Type.TOPIC, topic)
        wanted.add_incremental_config(_set("follower.replication.throttled.replicas", "*"))
        broker = ConfigResource(ConfigResource.Type.BROKER, "3")
        broker.add_incremental_config(_set("follower.replication.throttled.rate", rate))
        for future in admin.incremental_alter_configs([wanted, broker]).values():
            future.result(30)

    def _ask(self, replicas):
        """Whoever is the controller; None cancels."""
        kind = messages.AlterPartitionReassignmentsRequest
        row = kind.ReassignablePartition(partition_index=0, replicas=replicas)
        topic = kind.ReassignableTopic(name=self.topic, partitions=[row])
        request = kind(timeout_ms=20_000, topics=[topic])

        def is_taken():
            controller = self.cluster.controller()
            if controller is None:
                return False
            try:
                connection = Connection("127.0.0.1", self.cluster.members[controller].port, timeout_s=20)
            except (ConnectionFailed, HeadraceError):
                return False
            try:
                answer = connection.request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, request)
            except HeadraceError:
                return replicas is None  # the controller died: `retry` follows
            finally:
                connection.close()
            codes = {answer.error_code, *(one.error_code for topic in answer.responses for one in topic.partitions)}
            return codes <= {ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}

        self.cluster.wait_until(is_taken, "no controller takes it")


def _set(name, value):
    return ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)


OPERATIONS = {
    "creation": Creation,
    "deletion": Deletion,
    "reassignment": Reassignment,
    "election": Election,
    "cancellation": Cancellation,
}


class Series:
    """Rounds of one operation in one cluster."""

    def __init__(self, directory, operation, victim, successor, ibp="3.9"):
        self._kind = OPERATIONS[operation]
        self.cluster = MixedCluster(directory, [victim, successor, successor], ibp)
        self._cutter = WriteCutter(self.cluster.zookeeper)
        self.cluster.members[VICTIM].zookeeper_connect = self._cutter.connect
        self._read = {}
        self.wrong = []

    def start(self):
        self.cluster.start(controller=VICTIM)

    def round(self, count):
        """The victim dies after write `count`. Returns (whether it did, the last write)."""
        cluster = self.cluster
        cluster.move_controller({VICTIM})
        operation = self._kind(cluster, f"round-{count}")
        operation.prepare()
        if operation.begins_whole:
            cluster.wait_until_whole()
        epoch = cluster.controller_epoch()
        assert cluster.controller() == VICTIM
        victim = cluster.members[VICTIM]
        self._cutter.arm(count, lambda: victim.end(signal.SIGKILL))
        operation.begin()
        cluster.wait_until(lambda: self._cutter.has_cut.is_set() or operation.is_done(), "neither cut nor done")
        self._cutter.disarm()
        if has_cut := self._cutter.has_cut.is_set():
            self._cutter.end_session()
            cluster.wait_until(lambda: cluster.controller() in SUCCESSORS, "there is no successor")
            cluster.wait_until(lambda: not cluster.is_registered(VICTIM), "the victim is still registered")
            self._cutter.reopen()
            cluster.start_one(VICTIM)
            operation.retry()
        cluster.wait_until(
            operation.is_done, lambda: f"not completed after {self._cutter.written}: {self.left(operation)}"
        )
        if has_cut:
            assert cluster.controller() in SUCCESSORS
            assert cluster.controller_epoch() > epoch
        cluster.wait_until_whole()
        self._judge(count)
        return has_cut, self._cutter.written[-1:]

    def left(self, operation):
        """What ZooKeeper has of an operation that is not done."""
        cluster = self.cluster
        node = cluster.read(f"/brokers/topics/{operation.topic}")
        states = node and {index: cluster.state(operation.topic, int(index)) for index in node["partitions"]}
        return {
            "topic": node, "states": states, "controller": cluster.controller(),
            "deleting": cluster.keeper.get_children("/admin/delete_topics"),
            "reassigning": cluster.read("/admin/reassign_partitions"),
            "electing": cluster.read("/admin/preferred_replica_election"),
        }  # fmt: skip

    def _judge(self, count):
        for member in self.cluster.members.values():
            lines = severe_lines(member.log_file, self._read.get(member.broker_id, 0), OF_A_KILLED_CONTROLLER)
            self._read[member.broker_id] = member.log_file.stat().st_size
            self.wrong += [f"round {count}, broker {member.broker_id}: {line}" for line in lines]

    def close(self):
        self.cluster.close()
        self._cutter.close()


def play(directory, operation, victim, successor, ibp="3.9", rounds=range(1, ROUNDS_MAX)):
    """Rounds until one is whole before its death; returns what is wrong."""
    series = Series(directory, operation, victim, successor, ibp)
    try:
        series.start()
        for count in rounds:
            begun = time.monotonic()
            has_cut, last = series.round(count)
            elapsed_s = time.monotonic() - begun
            print(
                f"{operation} {victim}->{successor} ibp={ibp} write={count} {'killed after' if has_cut else 'whole at'} "
                f"{last} s={elapsed_s:.1f} {'WRONG' if series.wrong else 'ok'}",
                flush=True,
            )
            if not has_cut:
                break
    finally:
        series.close()
    return series.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operation", choices=OPERATIONS)
    parser.add_argument("victim", choices=KINDS)
    parser.add_argument("successor", choices=KINDS)
    parser.add_argument("--ibp", default="3.9")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--last", type=int, default=ROUNDS_MAX)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="headrace-killed-"))
    rounds = range(given.first, given.last + 1)
    try:
        wrong = play(directory, given.operation, given.victim, given.successor, given.ibp, rounds)
    except BaseException:
        print(f"kept: {directory}", file=sys.stderr)
        raise
    for one in wrong:
        print(one, file=sys.stderr)
    shutil.rmtree(directory) if not wrong else print(f"kept: {directory}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
