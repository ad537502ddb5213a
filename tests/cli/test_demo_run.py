"""The demo's node: it comes up, or its log is shown in time; nothing outlives the demo."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from headrace.cli import demo_run
from headrace.node.termination import terminate
from tests.support.altered import altered
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def lines(tmp_path):
    """A short file for the demo."""
    file = tmp_path / "lines"
    file.write_bytes(b"import this\n")
    return file


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Starts a node whose program is the given lines of Python; ends it with the test."""
    nodes = []

    def start(program):
        def popen(_args, **kept):
            return subprocess.Popen([sys.executable, "-c", program], **kept)

        monkeypatch.setattr(demo_run, "subprocess", altered(subprocess, Popen=popen))
        nodes.append(demo_run._start_node(tmp_path))
        return nodes[-1]

    yield start
    for node in nodes:
        terminate(node, demo_run.STOP_DEADLINE_S)


def test_the_readiness_line_is_found_among_others_and_in_pieces(start, tmp_path):
    node = start(
        "import sys, time\n"
        "for part in ('hello\\nready boot', 'strap=h:1 zookeeper=h:2 dir=d', '\\nkcat ...\\n'):\n"
        "    print(part, end='', flush=True); time.sleep(0.05)\n"
        "time.sleep(60)"
    )
    assert demo_run._await_ready(node, tmp_path) == "h:1"


def test_a_node_that_dies_shows_its_log(start, tmp_path):
    node = start("raise SystemExit('no ZooKeeper')")
    with pytest.raises(SystemExit, match="no ZooKeeper"):
        demo_run._await_ready(node, tmp_path)


def test_a_node_that_says_nothing_ends_at_the_deadline(start, tmp_path, monkeypatch):
    monkeypatch.setattr(demo_run, "READY_DEADLINE_S", 0.2)
    node = start("import time; time.sleep(60)")
    begun = time.monotonic()
    with pytest.raises(SystemExit, match="did not start"):
        demo_run._await_ready(node, tmp_path)
    assert time.monotonic() - begun < DEADLINE_S


def test_a_demo_that_is_told_to_stop_takes_its_node_and_directory_along(start, lines, tmp_path, monkeypatch):
    node = start("import time; time.sleep(60)")
    directory = tmp_path / "demo"
    directory.mkdir()
    monkeypatch.setattr(demo_run, "_start_node", lambda _directory: node)
    monkeypatch.setattr(demo_run, "tempfile", altered(tempfile, mkdtemp=lambda **_: str(directory)))
    before = signal.getsignal(signal.SIGTERM)
    await_ready = demo_run._await_ready

    def stop_meanwhile(*arguments):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return await_ready(*arguments)

    monkeypatch.setattr(demo_run, "_await_ready", stop_meanwhile)
    with pytest.raises(KeyboardInterrupt):
        demo_run.run_demo(lines)
    assert node.poll() is not None
    assert not directory.exists()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_demo_that_is_told_to_stop_while_its_node_starts_takes_it_along(start, lines, monkeypatch):
    node = start("import time; time.sleep(60)")

    def start_and_be_told(_directory):
        os.kill(os.getpid(), signal.SIGTERM)
        return node

    monkeypatch.setattr(demo_run, "_start_node", start_and_be_told)
    monkeypatch.setattr(demo_run, "_await_ready", lambda *_: pytest.fail("it went on"))
    with pytest.raises(KeyboardInterrupt):
        demo_run.run_demo(lines)
    assert node.poll() is not None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory"),
        (b"", "is empty"),
        (
            b"short\n" + b"x" * 1_000_000 + b"\n",
            "line 2: 1000000 bytes; the demo takes lines of at most 1000000 bytes",
        ),
    ],
)
def test_a_file_that_can_not_be_shown_is_named_before_anything_starts(
    monkeypatch, tmp_path, capsys, content, complaint
):
    monkeypatch.setattr(demo_run, "_start_node", lambda _directory: pytest.fail("a node was started"))
    file = tmp_path / "[red]it's.txt"
    if content is not None:
        file.write_bytes(content)
    assert demo_run.run_demo(file) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if str(file) in line and complaint in line] == said[1:], said


def test_a_directory_is_no_file_of_lines(tmp_path, capsys):
    assert demo_run.run_demo(tmp_path) == 1
    assert "Is a directory" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["two words.txt", 'it\'s "quoted".txt', "--help", "$HOME `id`.txt"])
def test_make_demo_hands_over_any_name_of_a_file(tmp_path, name):
    program = tmp_path / "bin" / "headrace"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (program.parent / "python").symlink_to("/bin/true")  # which would build the compiled core
    (tmp_path / "stamp").touch()
    given = f"FILE={name.replace('$', '$$')}"
    command = ["make", "-s", "-f", ROOT / "Makefile", "demo", given, f"BIN={program.parent}", f"STAMP={tmp_path}/stamp"]
    done = subprocess.run([*command, "-o", f"{tmp_path}/stamp"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"demo\n--\n{name}\n", "")


def test_a_rate_is_told_where_it_says_something():
    assert demo_run._rate("wrote", (2, 41), 0.5) == "wrote: 2 lines, 41 bytes in 0.50 s"
    assert "4 lines/s, 1.0 MB/s" in demo_run._rate("wrote", (8, 2_000_000), 2.0)
