"""Three hosts on one machine: a network of its own for each, with a Headrace node and a Spark standalone worker that sees its files only.

    host 1   10.X.Y.1   node 1   worker, executor ---+
    host 2   10.X.Y.2   node 2   worker, executor ---+--- 10.X.Y.254: Spark's master and the driver
    host 3   10.X.Y.3   node 3   worker, executor ---+    10.X.Y.253: ZooKeeper

What makes a host of it: the network (`chaos/network_rooms.py`), the name by which the node is advertised and executors are known, and
mounts in which the other hosts' log directories are empty. Needs root.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from tests.interop.mixed_cluster import MixedCluster, free_ports
from tests.support import children

HOSTS = (1, 2, 3)
SETTINGS = {"zookeeper.session.timeout.ms": "6000", "log.segment.bytes": "2000000", "log.retention.ms": "-1"}
HIDE = 'empty=$1; shift; while [ "$1" != -- ]; do mount --bind "$empty" "$1"; shift; done; shift; exec "$@"'
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"  # starts soon
START_S = 240  # of a JVM, on a machine that does other things as well
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


class Hosts:
    """A cluster of nodes and one of Spark's workers over the same three hosts.

    networks   `Networks(3)`
    """

    def __init__(self, directory, networks):
        self.directory = directory
        self.networks = networks
        self.cluster = MixedCluster(directory / "cluster", ["headrace"] * 3, settings=SETTINGS, networks=networks)
        self._empty = directory / "empty"
        self._empty.mkdir()
        self._workers = {}
        self._master = None

    @property
    def bootstrap(self):
        return self.cluster.bootstrap

    def start(self):
        self.cluster.start()
        port = free_ports(1)[0]
        here = self.networks.clients
        self.master = f"spark://{here}:{port}"
        command = ["org.apache.spark.deploy.master.Master", "--host", here, "--port", str(port), "--webui-port", "0"]
        self._master = self._spark(command, "master", SPARK_LOCAL_HOSTNAME=here)
        self._wait_for("master", "I have been elected leader")
        for number in HOSTS:
            self.start_worker(number)

    def start_worker(self, number):
        host = self.networks.rooms[number - 1]
        others = [str(one.log_dir) for key, one in self.cluster.members.items() if key != number]
        work = self.directory / f"work-{number}"
        spark = ["org.apache.spark.deploy.worker.Worker", "--host", host.address, "--webui-port", "0", "--cores", "2"]
        spark += ["--memory", "1g", "--work-dir", str(work), self.master]
        before = ["unshare", "--mount", "sh", "-c", HIDE, "sh", str(self._empty), *others, "--"]
        self._workers[number] = self._spark(
            spark,
            f"worker-{number}",
            lambda command: host.command([*before, *command]),
            SPARK_LOCAL_HOSTNAME=host.address,
        )
        self._wait_for(f"worker-{number}", "Successfully registered with master")

    def _spark(self, arguments, name, within=lambda command: command, **environment):
        own = {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{JVM} -Dspark.master.rest.enabled=false",
            "SPARK_LOCAL_IP": environment["SPARK_LOCAL_HOSTNAME"],
            "PYSPARK_PYTHON": sys.executable,
        }
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        with open(self.directory / f"{name}.log", "ab") as log:
            return children.start(
                within([str(SPARK_CLASS), *arguments]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**inherited, **own, **environment},
            )

    def _wait_for(self, name, words):
        path = self.directory / f"{name}.log"
        deadline = time.monotonic() + START_S
        while words not in path.read_text(errors="replace"):
            assert time.monotonic() < deadline, f"{name}: {path.read_text(errors='replace')[-2000:]}"
            time.sleep(0.1)

    def kill_node(self, number):
        """SIGKILL to all of a node's processes; what runs beside it on the host goes on."""
        self.cluster.members[number].end(signal.SIGKILL)

    def kill_host(self, number):
        """SIGKILL to everything of a host: node, Spark's worker, its executor, their Python workers."""
        self._kill_all(number)
        self.cluster.members[number].end(signal.SIGKILL)
        self._workers.pop(number).wait()

    def _kill_all(self, number):
        while pids := self.pids(number):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def pids(self, number):
        """All processes of a host, but for the one that keeps its network."""
        keeper = int(re.search(r"/proc/(\d+)/", self.networks.rooms[number - 1].command([])[1])[1])
        network = os.readlink(f"/proc/{keeper}/ns/net")
        found = set()
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(path / "ns" / "net") == network and not _is_zombie(path):
                    found.add(int(path.name))
        return found - {keeper}

    def restore(self, number):
        """A host that was killed, or its node, is there again, and all replicas are in sync."""
        if not self.cluster.members[number].is_up:
            self.cluster.wait_until(lambda: not self.cluster.is_registered(number), "its znode stays")
            self.cluster.start_one(number)
        if number not in self._workers:
            self.start_worker(number)
        self.cluster.wait_until_whole()

    def close(self):
        for number in list(self._workers):
            self._workers[number].terminate()
        for number in list(self._workers):
            self._workers.pop(number).wait()
        if self._master is not None:
            children.end(self._master)
        self.cluster.close()
        for number in HOSTS:  # executors, where a worker was too slow to end them
            with contextlib.suppress(OSError):
                self._kill_all(number)


def _is_zombie(path):
    return (path / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
