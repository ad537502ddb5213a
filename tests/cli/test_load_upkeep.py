"""`headrace load expire|delete|vacuum`, and what all of `headrace load` prints for programs."""

import json

import pytest

from headrace.load.history import dataset
from tests.cli.program import Program

pytestmark = pytest.mark.process


@pytest.fixture
def offline():
    """For commands that talk to no node."""
    return Program(None)


def values(to):
    return sorted(dataset(to).to_table(columns=["value"])["value"].to_pylist())


@pytest.fixture
def loaded(program, topic, tmp_path):
    """A directory with three records."""
    to = str(tmp_path / "out")
    program("produce", topic, stdin=b"one\ntwo\nthree\n")
    program("load", "--topics", topic, "--to", to, "-q")
    return to


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def test_rows_are_deleted_and_what_that_means_is_said(program, offline, topic, loaded):
    would = offline("load", "delete", "--where", "value = 'two'", "--to", loaded, "--dry-run")
    assert b"1 rows would be deleted from 1 files" in would
    assert len(values(loaded)) == 3
    done = program("load", "delete", "--where", "value = 'two'", "--to", loaded)
    assert b"1 rows deleted from 1 files" in done
    assert b"the log still has up to 1 of 1 records" in done
    assert b"headrace load rewind would load records that the log still has" in done
    assert b"keep the data until headrace load vacuum" in done
    assert values(loaded) == [b"one", b"three"]
    [found] = lines(offline("load", "delete", "--where", "value = 'one'", "--to", loaded, "--json"))
    assert (found["event"], found["records"], found["dead_letters"], found["commit"]) == ("delete", 1, 0, 3)
    assert found["partitions"][0]["in_log"] is None
    assert program("load", "--topics", topic, "--to", loaded, "-q").startswith(b"loaded 0 records")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["delete", "--where", "nosuch = 1"], "the columns are"),
        (["delete", "--where", "offset = 1"], "double quotes"),
        (["delete", "--where", "true; drop table x"], "more than one statement"),
        (["expire", "--older-than", "soon"], "expected 500ms"),
        (["vacuum", "--older-than", "1m"], "--force allows it"),
    ],
)
def test_wrong_arguments_end_with_2(offline, loaded, arguments, message):
    assert message in " ".join(offline.fails("load", *arguments, "--to", loaded, exit_code=2).split())


def test_hours_expire_and_files_go(offline, loaded):
    [found] = lines(offline("load", "expire", "--older-than", "90d", "--to", loaded, "--json", "--dry-run"))
    assert (found["records"], found["hours"], found["commit"]) == (0, [], None)
    assert b"0 rows deleted" in offline("load", "expire", "--older-than", "90d", "--to", loaded)
    offline("load", "delete", "--where", "true", "--to", loaded)
    [found] = lines(offline("load", "vacuum", "--to", loaded, "--json"))
    assert (found["event"], found["files"]) == ("vacuum", 0)
    assert b"1 files would be removed" in offline(
        "load", "vacuum", "--older-than", "1ms", "--force", "--to", loaded, "--dry-run"
    )
    assert b"1 files removed" in offline("load", "vacuum", "--older-than", "1ms", "--force", "--to", loaded)


def test_every_command_has_a_line_of_json(program, offline, topic, loaded, tmp_path):
    program("produce", topic, stdin=b"four\n")
    health = tmp_path / "health.json"
    events = lines(
        program("load", "--topics", topic, "--to", loaded, "--json", "--health-file", str(health), "--keep", "90d")
    )
    assert [one["event"] for one in events] == ["commit", "round", "end"]
    assert (events[0]["records"], events[-1]["state"], events[-1]["lag"]) == (1, "ok", {topic: 0})
    assert json.loads(health.read_text())["state"] == "stopped"
    for command, event in ((["compact"], "compact"), (["audit"], "audit"), (["migrate"], "migrate")):
        [found] = lines(offline("load", *command, "--to", loaded, "--json"))
        assert (found["event"], found["target"]) == (event, loaded)
    [found] = lines(program("load", "rewind", "--topics", topic, "--to", loaded, "--from", "1", "--json"))
    assert [(one["topic"], one["offset"]) for one in found["partitions"]] == [(topic, 1)]


def test_a_health_file_in_no_directory_is_refused(program, loaded, topic):
    arguments = ("--topics", topic, "--to", loaded, "--health-file", "/nosuch/health.json")
    assert "is not a directory" in program.fails("load", *arguments, exit_code=2)
