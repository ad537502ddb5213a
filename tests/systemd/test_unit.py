"""The shipped unit under a real systemd: whatever the world does, the node is active again without a hand.

Run by `make systemd` (some ten minutes: ZooKeeper is a minute late, a port is held for half of one).
"""

import signal
import socket
import subprocess
import sys
import time

import pytest

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.support.waiting import wait_until
from tests.systemd.machine import REPOSITORY, Machine, why_not

pytestmark = pytest.mark.systemd

PROPERTIES = "/etc/headrace/server.properties"
LATE_S = 60
HELD_S = 30
KILLS = 10
KILL_INTERVAL_S = 6  # ten in a minute


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    if reason := why_not():
        pytest.skip(reason)
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.prepare()
    try:
        if not machine.boots():
            pytest.skip(f"no systemd can be booted here: {machine.boot_log()}")
        machine.check("/opt/headrace/bin/headrace", "systemd-files", "/")
        machine.check("systemd-sysusers")
        machine.check("systemd-tmpfiles", "--create", "/etc/tmpfiles.d/headrace.conf")
        machine.check("systemctl", "daemon-reload")
        yield machine
    finally:
        machine.stop()


@pytest.fixture
def zookeeper(tmp_path):
    """A server that is not started yet, at a port that is its own."""
    server = EmbeddedZooKeeper(tmp_path / "zookeeper", port=free_port())
    yield server
    server.stop()


@pytest.fixture
def service(machine, zookeeper):
    """service(key=value, ...): the unit with that file, stopped; without state of an earlier test."""

    def configure(**changes):
        port = free_port()
        given = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "zookeeper.connect": f"127.0.0.1:{zookeeper._wanted_port}",
            "log.dirs": "/var/lib/headrace/logs",
            **changes,
        }
        machine.write(PROPERTIES, "".join(f"{key}={value}\n" for key, value in given.items()))
        machine.check("systemctl", "daemon-reload")
        return machine, port

    yield configure
    machine.run("systemctl", "stop", "headrace")
    machine.run("systemctl", "reset-failed", "headrace")
    machine.run("sh", "-c", "rm -rf /var/lib/headrace/logs/* /var/lib/headrace/logs/.[a-z]* /data/*")
    machine.run(
        "sh", "-c", "rm -f /etc/systemd/system/headrace.service.d/test.conf /run/systemd/system/headrace.service.d/*"
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_active(machine):
    wait_until(lambda: machine.show("ActiveState") == "active", lambda: machine.show("StatusText") + machine.journal())
    assert machine.show("StatusText").startswith("serving on ")


def headrace(*arguments):
    command = [sys.executable, "-m", "headrace.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)


def test_the_unit_is_as_closed_as_we_say(machine):
    assert machine.check("systemd-analyze", "verify", "--man=no", "headrace.service") == ""
    last = machine.check("systemd-analyze", "security", "headrace.service").strip().splitlines()[-1]
    assert float(last.split(":")[1].split()[0]) <= 2.0


def test_a_zookeeper_that_comes_a_minute_late_is_waited_for(service, zookeeper):
    machine, _port = service()
    machine.check("systemctl", "start", "--no-block", "headrace")
    begun = time.monotonic()
    wait_until(lambda: "ZooKeeper" in machine.show("StatusText"), machine.journal)
    while time.monotonic() < begun + LATE_S:
        assert machine.show("ActiveState") == "activating", machine.journal()
        time.sleep(1)
    zookeeper.start()
    wait_active(machine)
    assert machine.show("NRestarts") == "0"


def test_a_port_that_is_held_for_half_a_minute_is_waited_for(service, zookeeper):
    zookeeper.start()
    machine, port = service()
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        machine.check("systemctl", "start", "--no-block", "headrace")
        wait_until(lambda: "Address already in use" in machine.show("StatusText"), machine.journal)
        time.sleep(HELD_S)
    wait_active(machine)


def test_ten_kills_of_the_supervisor_in_a_minute_are_survived(service, zookeeper):
    zookeeper.start()
    machine, port = service()
    machine.check("systemctl", "start", "headrace")
    begun = time.monotonic()
    for kill in range(KILLS):
        pid = machine.show("MainPID")
        machine.check("systemctl", "kill", "--signal", "KILL", "--kill-who", "main", "headrace")
        wait_until(lambda before=pid: machine.show("MainPID") not in ("0", before), machine.journal)
        time.sleep(max(0, begun + (kill + 1) * KILL_INTERVAL_S - time.monotonic()))
    wait_active(machine)
    assert int(machine.show("NRestarts")) >= KILLS
    assert headrace("topics", "create", "t", "-b", f"127.0.0.1:{port}").returncode == 0


@pytest.mark.parametrize(
    "how", [("reload",), ("kill", "--signal", "HUP", "--kill-who", "main")], ids=["reload", "kill"]
)
def test_a_hang_up_is_a_reload(service, zookeeper, how):
    zookeeper.start()
    machine, _port = service()
    machine.check("systemctl", "start", "headrace")
    pid = machine.show("MainPID")
    properties = machine.check("cat", PROPERTIES)
    machine.write(PROPERTIES, f"{properties}num.partitions=9\n")
    machine.check("systemctl", *how, "headrace")
    wait_until(lambda: "effective after a restart: num.partitions" in machine.show("StatusText"), machine.journal)
    assert machine.show("ActiveState") == "active"
    assert machine.show("MainPID") == pid
    assert machine.show("NRestarts") == "0"


def test_a_second_disk_is_told_of_until_a_drop_in_opens_it(service, zookeeper):
    zookeeper.start()
    machine, _port = service(**{"log.dirs": "/var/lib/headrace/logs,/data/1"})
    machine.check("install", "-d", "-o", "headrace", "-g", "headrace", "-m", "2750", "/data/1")
    machine.check("systemctl", "start", "headrace")
    wait_active(machine)
    assert "log directories offline: /data/1" in machine.show("StatusText")
    assert "ReadWritePaths=" in machine.journal()
    machine.write("/etc/systemd/system/headrace.service.d/test.conf", "[Service]\nReadWritePaths=-/data/1\n")
    machine.check("systemctl", "daemon-reload")
    machine.check("systemctl", "restart", "headrace")
    wait_active(machine)
    assert "offline" not in machine.show("StatusText")
    assert (machine.root / "data/1/meta.properties").stat().st_mode & 0o777 == 0o640


def test_a_text_that_is_wrong_is_not_tried_again(service):
    machine, _port = service(**{"ssl.keystore.location": "/etc/keys.jks"})
    assert machine.run("systemctl", "start", "headrace").returncode != 0
    wait_until(lambda: machine.show("ActiveState") == "failed", machine.journal)
    assert machine.show("ExecMainStatus") == "78"
    assert machine.show("NRestarts") == "0"
    assert "for ssl.keystore.location: not supported yet" in machine.journal()


def test_a_worker_that_is_killed_is_nobodys_business_but_the_supervisors(service, zookeeper):
    zookeeper.start()
    machine, _port = service()
    machine.check("systemctl", "start", "headrace")
    for name in ("hr-partition-0", "hr-network-0", "hr-controlle-0", "hr-housekeep-0"):
        machine.check("pkill", f"-{signal.SIGKILL.value}", "-x", name)
    wait_active(machine)
    assert machine.show("NRestarts") == "0"
    assert machine.show("OOMPolicy") == "continue"
