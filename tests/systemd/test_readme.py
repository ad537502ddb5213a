"""The fenced commands of systemd/README.md, word for word, in a fresh clone on a machine that has nothing of ours."""

from pathlib import Path

import pytest

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.docs.fences import BadFence, Walk, fences
from tests.systemd.machine import CLONE, Machine, why_not

pytestmark = pytest.mark.systemd

PAGE = "systemd/README.md"
PROPERTIES = "/etc/headrace/server.properties"


@pytest.fixture
def machine(tmp_path):
    if reason := why_not():
        pytest.skip(reason)
    machine = Machine(tmp_path)
    machine.prepare_bare()
    try:
        if not machine.boots():
            pytest.skip(f"no systemd can be booted here: {machine.boot_log()}")
        machine.check("ldconfig")  # the interpreter's library lies where it was not built
        yield machine
    finally:
        machine.stop()


@pytest.fixture
def zookeeper(tmp_path):
    server = EmbeddedZooKeeper(tmp_path / "zookeeper")
    server.start()
    yield server.connect
    server.stop()


def edit(machine, **changes):
    """What the page asks for between its fences: the example's addresses are not ours. Owner and mode stay."""
    lines = machine.check("cat", PROPERTIES).splitlines()
    edited = [f"{key}={changes.pop(key)}" if (key := line.partition("=")[0]) in changes else line for line in lines]
    assert not changes
    machine.write(PROPERTIES, "\n".join(edited), mode=0o640)


def test_every_fenced_command_runs_word_for_word(machine, zookeeper):
    walk = Walk(Path("/"), machine.walker())
    install, start = fences((machine.root / CLONE[1:] / PAGE).read_text())
    walk.run(install)
    assert machine.check("stat", "--format", "%U:%G %a", PROPERTIES).strip() == "root:headrace 640"
    edit(
        machine,
        **{
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "advertised.listeners": "PLAINTEXT://127.0.0.1:0",
            "zookeeper.connect": zookeeper,
        },
    )
    walk.run(start)
    bootstrap = machine.show("StatusText").split()[2]
    headrace = "/opt/headrace/bin/headrace"
    machine.check(headrace, "topics", "create", "t", "-b", bootstrap)
    machine.check("sh", "-c", f"echo hello | {headrace} produce t -b {bootstrap}")
    assert machine.check(headrace, "consume", "t", "-b", bootstrap) == "hello\n"
    assert machine.show("UnitFileState") == "enabled"


def test_a_command_that_fails_in_there_fails_the_walk(machine):
    walk = Walk(Path("/"), machine.walker())
    fence = fences("```sh\ntest -e /data && test -e constraints.txt && ! test -e /opt/headrace\nfalse\ntrue\n```\n")[0]
    with pytest.raises(BadFence, match="exit 1"):
        walk.run(fence)
