"""A /dev/shm that is full: workers die and come back, and nobody else can take the node's memory meanwhile.

The node runs in a mount namespace of its own, with the 64 MB that a container has.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.support import children
from tests.support.waiting import DEADLINE_S, wait_until

SHM_MOUNT = "mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm"
FILL_BYTES = 1 << 16


def may_unshare():
    return subprocess.run(["unshare", "-m", "sh", "-c", SHM_MOUNT], capture_output=True).returncode == 0


class SmallNode:
    """A node that sees a small /dev/shm; `shm` is the way there from outside."""

    def __init__(self, directory):
        self._log = directory / "node.log"
        node = [sys.executable, "-m", "headrace.cli.main", "dev", "--dir", str(directory / "dev"), "--port", "0"]
        node += ["--set", "headrace.network.workers=2", "--set", "headrace.partition.workers=1"]
        command = ["unshare", "-m", "sh", "-c", f'{SHM_MOUNT} && exec "$@"', "node", *node]
        with open(self._log, "w") as log:
            self.process = children.start(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("ready "), self.log()
        self.bootstrap = line.split("bootstrap=")[1].split()[0]
        self.shm = Path("/proc", str(self.process.pid), "root", "dev", "shm")

    def log(self):
        return self._log.read_text()

    def pid(self, name):
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                    return int(pid)
        return 0

    def fill(self):
        """Take every byte that is left."""
        with open(self.shm / "somebody-elses", "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(FILL_BYTES))
        assert os.statvfs(self.shm).f_bavail == 0

    def stop(self):
        code = children.end(self.process)
        self.process.stdout.close()
        return code


@pytest.fixture
def small_node(tmp_path):
    if not may_unshare():
        pytest.skip("no mount namespaces here")
    node = SmallNode(tmp_path)
    yield node
    node.stop()


def produce(bootstrap, value):
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": int(DEADLINE_S * 1000)})
    producer.produce("t", value, on_delivery=lambda failure, _message: failures.append(failure))
    assert producer.flush(DEADLINE_S) == 0
    assert failures == [None]


def consume(bootstrap, count):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    found = []
    try:
        wait_until(
            lambda: found.extend(message.value() for message in consumer.consume(count, 0.5)) or len(found) >= count
        )
    finally:
        consumer.close()
    return found


def test_every_worker_may_die_while_shared_memory_is_full(small_node):
    values = [b"first"]
    produce(small_node.bootstrap, values[0])
    small_node.fill()
    names = ["hr-partition-0", "hr-network-0", "hr-network-1", "hr-controlle-0", "hr-housekeep-0", "hr-partition-0"]
    for name in names:
        small_node.fill()
        killed = small_node.pid(name)
        os.kill(killed, 9)
        wait_until(lambda one=name, before=killed: small_node.pid(one) not in (0, before), small_node.log)
        values.append(name.encode())
        produce(small_node.bootstrap, values[-1])
    assert small_node.log().count("no space for new rings, reusing the old ones") == len(names)
    assert consume(small_node.bootstrap, len(values)) == values
    assert small_node.process.poll() is None
    assert small_node.stop() == 0
