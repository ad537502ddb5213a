"""The two ZooKeeper servers that tests run against, each a process: Apache's, and the one in Python.

@pytest.fixture(params=ZOOKEEPERS)    ->    new_zookeeper(request.param, directory)
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.support import children

ZOOKEEPERS = ("apache", "python")
TICKS_MAX = 60  # as the embedded one has it


class PythonZooKeeper:
    """`python -m headrace.testing.zookeeper`, used as Apache's is: a restart is on the same port, with what it had."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "data"  # as Apache's has it
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        command = [sys.executable, "-m", "headrace.testing.zookeeper", "--port", str(self.port)]
        options = ["--dir", str(self._directory), "--ticks-max", str(TICKS_MAX)]
        self._process = children.start([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("ready zookeeper="), line
        self.port = int(line.rpartition(":")[2])

    def wait_until_ready(self, _timeout_s: float) -> None:
        """It is, once it has started."""

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            children.end(process)
            assert process.stdout is not None
            process.stdout.close()


def new_zookeeper(kind: str, directory: Path) -> EmbeddedZooKeeper | PythonZooKeeper:
    """A server, not started yet; what it has outlives a stop."""
    if kind == "python":
        return PythonZooKeeper(directory)
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH: Apache's ZooKeeper can't run")
    return EmbeddedZooKeeper(directory)
