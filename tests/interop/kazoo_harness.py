"""A plugin of pytest for kazoo's own suite: its tests get one server that a command starts, instead of an ensemble in Java.

Runs in: the suite's own virtual environment, which has kazoo and nothing of ours. The command of $ZOOKEEPER_COMMAND (JSON, with {port} and
{directory} in it) prints `ready zookeeper=HOST:PORT` and serves until SIGTERM.
"""

import json
import os
import shutil
import subprocess
import tempfile

from kazoo.testing import common, harness


class OneServer:
    """What the harness asks of a server; its state is gone with `destroy`."""

    def __init__(self):
        self._process = None
        self._port = 0
        self._directory = None

    @property
    def running(self):
        return self._process is not None

    @property
    def address(self):
        return f"127.0.0.1:{self._port}"

    client_port = property(lambda self: self._port)

    def run(self):
        if self._process is None:
            self._directory = self._directory or tempfile.mkdtemp()
            places = {"port": self._port, "directory": self._directory}
            command = [word.format(**places) for word in json.loads(os.environ["ZOOKEEPER_COMMAND"])]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            line = self._process.stdout.readline()
            assert line.startswith("ready zookeeper="), line
            self._port = int(line.rpartition(":")[2])

    def stop(self):
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(30)
            process.stdout.close()

    def destroy(self):
        self.stop()
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory)

    def get_logs(self, *_):
        return []


class OneServerCluster:
    """The harness's cluster, of one server."""

    def __init__(self):
        self._servers = [OneServer()]

    def __iter__(self):
        return iter(self._servers)

    def __getitem__(self, index):
        return self._servers[index]

    def __len__(self):
        return 1

    def start(self):
        for server in self:
            server.run()

    def stop(self):
        for server in self:
            server.stop()

    def terminate(self):
        for server in self:
            server.destroy()

    reset = terminate

    def get_logs(self):
        return []


CLUSTER = OneServerCluster()
harness.get_global_cluster = lambda: CLUSTER
common.ZookeeperCluster = None  # nothing of Java's is started by mistake


def pytest_unconfigure():
    CLUSTER.terminate()
