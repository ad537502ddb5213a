"""Supervisors with fake children, each in a fork of the test process, gone after the test whatever it did."""

import os
import select
import signal
import sys
import time
import traceback
from pathlib import Path

import pytest

from headrace.errors import ConfigError, HeadraceError
from headrace.node.logging_setup import set_up_logging
from headrace.node.notify import Notifier
from headrace.node.supervisor import Supervisor
from headrace.settings import Settings
from headrace.shm.process_table import ProcessState, ProcessTable
from headrace.shm.region import SHM_DIRECTORY, Region, region_prefix, sweep
from tests.node.fake_processes import node_of
from tests.support.children import die_with_parent
from tests.support.waiting import DEADLINE_S, wait_until

EXIT_RAISED = 99
SMALL = {
    "broker.id": "7",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "zookeeper.connect": "127.0.0.1:1",
    "headrace.network.workers": "1",
    "headrace.partition.workers": "1",
    "headrace.partitions.max": "16",
    "message.max.bytes": "16384",
    "headrace.request.ring.bytes": "65536",
}


def settings_of(directory: Path, changes: dict[str, str] | None = None) -> Settings:
    return Settings({**SMALL, "log.dirs": str(directory / "logs"), **(changes or {})})


class ForkedNode:
    """A supervisor in a process of its own; what it prints and logs can be read here."""

    def __init__(
        self, directory: Path, entry_points: dict, changes: dict[str, str], environment: dict[str, str], options: dict
    ):
        self.log_dir = directory / "logs"
        self.settings = settings_of(directory, changes)
        self.prefix = region_prefix(self.settings["broker.id"], self.log_dir)
        self._log = directory / "node.log"
        self._looks = directory / "looks"  # a byte for each
        self._looks.touch()
        self._reading, writing = os.pipe()
        self.exit_code: int | None = None
        parent = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            self._be_supervisor(entry_points, environment, options, writing, parent)
        os.close(writing)

    def _be_supervisor(
        self, entry_points: dict, environment: dict[str, str], options: dict, writing: int, parent: int
    ) -> None:
        code = EXIT_RAISED
        try:
            assert die_with_parent(parent)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite may run under nohup, which the supervisor respects
            os.dup2(writing, 1)
            os.dup2(os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            set_up_logging("INFO", sys.stderr)
            notifier = Notifier(environment)
            looks = os.open(self._looks, os.O_WRONLY | os.O_APPEND)
            options = {"on_tick": lambda _now_ms: os.write(looks, b"."), **options}
            code = Supervisor(self.settings, entry_points=entry_points, notifier=notifier, **options).run()
        except HeadraceError as failure:
            print(f"headrace: {failure}", file=sys.stderr)
            code = 78 if isinstance(failure, ConfigError) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait_ready(self) -> str:
        """The ready line."""
        line = b""
        deadline = time.monotonic() + DEADLINE_S
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            assert left > 0, f"not ready\n{self.log()}"
            if select.select([self._reading], [], [], left)[0]:
                byte = os.read(self._reading, 1)
                assert byte, f"ended before it was ready\n{self.log()}"
                line += byte
        return line.decode().rstrip()

    def wait_for_looks(self, count: int) -> None:
        """Until the supervisor has looked after its processes so many times more, so that what it does then is done."""
        wanted = self.looks() + count
        wait_until(lambda: self.looks() >= wanted, lambda: f"the supervisor does not look\n{self.log()}")

    def looks(self) -> int:
        return os.stat(self._looks).st_size

    def is_ready(self) -> bool:
        return bool(select.select([self._reading], [], [], 0)[0])

    def address(self, ready_line: str) -> tuple[str, int]:
        host, _, port = ready_line.split("bootstrap=")[1].split()[0].rpartition(":")
        return host, int(port)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code; -n for signal n."""
        if self.exit_code is None:
            wait_until(self._reaped, lambda: f"the supervisor did not end\n{self.log()}")
        return self.exit_code

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def children(self) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def child(self, process_id: int) -> int:
        """Pid of a process of the node, as the process table has it."""
        return self.from_table(lambda table: table.pid(process_id))

    def state(self, process_id: int) -> ProcessState:
        return self.from_table(lambda table: table.state(process_id))

    def heartbeat_ns(self, process_id: int) -> int:
        """When it gave its last sign of life; 0 before its first."""
        return self.from_table(lambda table: table.heartbeat_ns(process_id))

    def starts(self, process_id: int) -> int:
        return self.from_table(lambda table: table.starts(process_id))

    def from_table(self, look):
        name = next(name for name in self.regions() if name.endswith("-processes"))
        region = Region.attach(f"/{name}", writable=False)
        try:
            return look(ProcessTable(region))
        finally:
            region.close()

    def regions(self) -> list[str]:
        return sorted(name for name in os.listdir(SHM_DIRECTORY) if name.startswith(f"{self.prefix}-"))

    def destroy(self) -> None:
        if self.exit_code is None and not self._reaped():
            self.signal(signal.SIGKILL)
            self.wait()
        os.close(self._reading)
        sweep(self.prefix)

    def _reaped(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.exit_code = os.waitstatus_to_exitcode(status)
        return bool(pid)


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.fixture(name="settings_of")
def _settings_of():
    return settings_of


@pytest.fixture(name="is_running")
def _is_running():
    return is_running


@pytest.fixture
def fork_node(tmp_path):
    """fork_node(changes, environment, options of the supervisor, role=entry point, ...) -> ForkedNode, on one directory for
    the whole test."""
    nodes = []

    def fork(changes=None, environment=None, options=None, **roles):
        nodes.append(ForkedNode(tmp_path, node_of(**roles), changes or {}, environment or {}, options or {}))
        return nodes[-1]

    yield fork
    for node in nodes:
        node.destroy()
