"""A mirror as a process of a test, killed and started again; what two clusters hold, compared record by record."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.testing.processes import children_of, is_alive
from tests.conftest import start_node
from tests.support import children
from tests.support.waiting import wait_until

DEADLINE_S = 40
SETTINGS = (
    "headrace.network.workers=1",
    "headrace.partition.workers=1",
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=2",
    f"log.retention.check.interval.ms={24 * 3_600_000}",
)


@contextmanager
def started_nodes(directory, *names):
    """A node for each name, each with a ZooKeeper of its own."""
    running = []
    try:
        for name in names:
            running.append(start_node(directory / name, *SETTINGS))
        yield running
    finally:
        for one in running:
            one.stop()


class MirrorProcess:
    """`headrace mirror` between servers, with a state directory of its own."""

    def __init__(self, directory, sources, target, **settings):
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.sources, self.target = sources, target
        self.config = directory / "mirror.properties"
        given = {
            "mirror.source.bootstrap.servers": "|".join(sources),
            "mirror.target.bootstrap.servers": target,
            "mirror.state.dir": str(directory),
            "mirror.checkpoint.interval.ms": "200",
            "mirror.refresh.interval.ms": "500",
            "mirror.groups.interval.ms": "500",
            "mirror.lease.ms": "300",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.config.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        self._process = None

    def _command(self, *arguments):
        return [sys.executable, "-m", "headrace.cli.main", "mirror", "--config", str(self.config), *arguments]

    def start(self):
        with open(self.directory / "mirror.log", "a") as log:
            self._process = children.start(self._command(), stdout=log, stderr=log)

    def kill(self):
        """At once, as a power loss would. Of several processes the first one: the others end by themselves."""
        process, self._process = self._process, None
        if process is not None:
            others = children_of(process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until(lambda: not any(map(is_alive, others)), "a process of a mirror goes on without the first one")

    def kill_a_child(self, chance):
        """One of several processes: the others end by themselves."""
        process, self._process = self._process, None
        others = children_of(process.pid)
        if others:
            os.kill(chance.choice(others), signal.SIGKILL)
        else:
            process.send_signal(signal.SIGKILL)
        process.wait(timeout=DEADLINE_S)

    def signal(self, number):
        """To all its processes."""
        for pid in (self._process.pid, *children_of(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def has_ended(self):
        """Whether it ended by itself."""
        return self._process is not None and self._process.poll() is not None

    def stop(self):
        """SIGTERM; returns the exit code."""
        process, self._process = self._process, None
        return children.end(process) if process is not None else None

    def wait(self):
        """The exit code of one that ends by itself."""
        process, self._process = self._process, None
        return process.wait(timeout=DEADLINE_S)

    def finish(self, deadline_s=DEADLINE_S):
        """Copy up to the present ends; returns the exit code."""
        with open(self.directory / "mirror.log", "a") as log:
            return subprocess.run(self._command("--once"), stdout=log, stderr=log, timeout=deadline_s).returncode

    def log(self):
        return (self.directory / "mirror.log").read_text()

    def status(self):
        """(exit code, what it says of each process)."""
        command = [
            sys.executable,
            "-m",
            "headrace.cli.main",
            "mirror",
            "status",
            "--config",
            str(self.config),
            "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        return done.returncode, json.loads(done.stdout)


def records_of(bootstrap, topic, is_read_committed=False):
    """Partition -> its records, from the first to the last."""
    with Cluster(bootstrap) as cluster:
        cluster.refresh([topic])
        names = [name for name in cluster.partitions if name.topic == topic]
        starts = cluster.offsets(dict.fromkeys(names, EARLIEST))
        ends = cluster.offsets(dict.fromkeys(names, LATEST), is_read_committed)
    found = {name.partition: [] for name in names}
    with Kafka(bootstrap) as kafka:
        for records in read_ranges(kafka, starts, ends, is_read_committed=is_read_committed):
            found[records[0].partition] += records
    return found


def contents(records):
    """What has to be kept of records."""
    return [(one.timestamp_ms, one.key, one.value, one.headers) for one in records]


def partition(topic, index=0):
    return TopicPartition(topic, index)


def delete_records(cluster, name, offset):
    """Move the start of a partition to an offset."""
    cluster.refresh([name.topic])
    kind = messages.DeleteRecordsRequest
    row = kind.DeleteRecordsPartition(partition_index=name.partition, offset=offset)
    request = kind(topics=[kind.DeleteRecordsTopic(name=name.topic, partitions=[row])], timeout_ms=10_000)
    connection = cluster.connection(cluster.leader(name))
    answer = connection.request(ApiKey.DELETE_RECORDS, connection.version(ApiKey.DELETE_RECORDS, 0, 2), request)
    assert answer.topics[0].partitions[0].error_code == 0
