"""`headrace load` against a node: loads, repeats, what it prints, how it ends."""

import dataclasses
import json
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

import headrace.load
from headrace.cli import load as command
from headrace.cli.load import parse_duration
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.load.commits import Snapshot
from headrace.load.history import dataset
from headrace.load.loader import Loaded
from tests.cli.program import Program
from tests.support import children
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process


@pytest.fixture
def offline():
    """For commands that talk to no node."""
    return Program(None)


def values(to):
    return sorted(dataset(to).to_table(columns=["value"])["value"].to_pylist())


def run_of(monkeypatch, tmp_path, loaded):
    monkeypatch.setattr(headrace.load, "load", loaded)
    return command._run("clicks", str(tmp_path / "out"), "localhost:9092", {}, True)


def test_partitions_that_are_left_are_an_exit_code_of_their_own(monkeypatch, tmp_path, capsys):
    done = Loaded(1, 7, 0, Snapshot(), left=(TopicPartition("clicks", 0),))
    assert run_of(monkeypatch, tmp_path, lambda *_arguments, **_options: done) == command.EXIT_LEFT
    assert "1 partitions had no leader" in capsys.readouterr().err
    whole = dataclasses.replace(done, left=())
    assert run_of(monkeypatch, tmp_path, lambda *_arguments, **_options: whole) == 0


def test_a_file_that_can_not_be_read_is_no_wrong_argument(monkeypatch, tmp_path):
    def fails(*_arguments, **_options):
        raise pa.ArrowInvalid("Parquet magic bytes not found")

    with pytest.raises(HeadraceError, match=r"load to .*out: Parquet magic bytes not found"):
        run_of(monkeypatch, tmp_path, fails)


def test_a_topic_is_loaded_audited_merged_and_taken_back(program, offline, topic, tmp_path):
    to = str(tmp_path / "out")
    for line in (b"one", b"two"):
        program("produce", topic, stdin=line + b"\n")
        assert f"loaded 1 records in 1 commits to {to}".encode() in program("load", "--topics", topic, "--to", to, "-q")
    assert values(to) == [b"one", b"two"]
    assert b"2 records in 2 commits: all agree" in offline("load", "audit", "--to", to, "--deep")
    assert json.loads(offline("load", "audit", "--to", to, "--json"))["records"] == 2
    said = offline("load", "audit", "--to", to)
    assert b"all agree; compared: commits, with sizes and footers of 2 files" in said
    assert b"not compared: the log" in said
    said = program("load", "audit", "--to", to, "--deep")
    assert b"with all bytes of 2 files; the log of" in said
    assert b"IN THE LOG" in said
    assert b"not compared" not in said
    assert b"2 files before" in offline("load", "compact", "--to", to)
    assert b"headrace-load.out" in program("groups", "list")
    assert topic.encode() in program("load", "rewind", "--topics", topic, "--to", to, "--from", "earliest")
    assert values(to) == []
    program("load", "--topics", topic, "--to", to, "-q")
    assert values(to) == [b"one", b"two"]


def test_an_audit_that_differs_ends_with_1(program, offline, topic, tmp_path):
    program("produce", topic, stdin=b"one\n")
    program("load", "--topics", topic, "--to", str(tmp_path / "out"), "-q")
    [path] = (tmp_path / "out").glob("topic=*/*/*.parquet")
    path.unlink()
    assert "is missing" in offline.fails("load", "audit", "--to", str(tmp_path / "out"))


def test_json_values_become_columns_and_dead_letters(program, topic, tmp_path):
    program("produce", topic, stdin=b'{"page": "home"}\nbad\n')
    arguments = ("--decode", "json", "--schema", "page string", "--decode-mode", "dead", "-q")
    done = program("load", "--topics", topic, "--to", str(tmp_path / "out"), *arguments)
    assert b"loaded 2 records, 1 of them dead letters" in done
    assert dataset(tmp_path / "out").to_table()["page"].to_pylist() == ["home"]


def test_a_load_says_that_no_topic_matches(program, tmp_path):
    done = program.run("load", "--topics", "nosuch-.*", "--to", str(tmp_path / "out"), "--read-committed")
    assert done.returncode == 0
    assert b"headrace: no topic matches 'nosuch-.*'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "x"], "--topics"),
        (["--topics", "x"], "--to"),
        (["--topics", "x", "--to", "s3://b/x"], "expected a directory"),
        (["--topics", "x", "--to", "y", "--every", "soon"], "expected 500ms, 30s, 1m, 2h or 90d"),
        (["--topics", "x", "--to", "y", "--from", "-5"], "expected earliest, latest"),
        (["--topics", "x", "--to", "y", "--schema", "a int"], "needs --decode"),
        (["--topics", "x", "--to", "y", "--out-of-range", "z"], "fail, earliest, skip"),
        (["--topics", "x", "--to", "y", "--bad-times", "z"], "dead, null, nearest, fail"),
        (["--topics", "(", "--to", "y"], "not a regular expression"),
    ],
)
def test_wrong_arguments_end_with_2(program, arguments, message):
    assert message in program.fails("load", *arguments, exit_code=2)


def test_sigterm_ends_a_load_that_repeats_after_its_commit(program, node, topic, tmp_path):
    to = str(tmp_path / "out")
    program("produce", topic, stdin=b"one\n")
    command = [
        sys.executable,
        "-m",
        "headrace.cli.main",
        "load",
        "--topics",
        topic,
        "--to",
        to,
        "--every",
        "0.2s",
        "-q",
    ]
    process = children.start([*command, "-b", node.bootstrap], stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: (tmp_path / "out").exists() and values(to) == [b"one"] if _commits(tmp_path) else False)
        program("produce", topic, stdin=b"two\n")
        wait_until(lambda: values(to) == [b"one", b"two"])
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            children.end(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert f"loaded 2 records in 2 commits to {to}" in said
    assert not list((tmp_path / "out" / "_headrace" / "runs").iterdir())


def _commits(tmp_path):
    return list((tmp_path / "out" / "_headrace").glob("0*.json"))


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("30s", 30), ("1m", 60), ("1.5h", 5400), ("0.2s", 0.2), ("1d", 86_400)]
)
def test_durations(text, seconds):
    assert parse_duration("--every", text) == seconds
