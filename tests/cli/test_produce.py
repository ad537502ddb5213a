"""`headrace produce` and `headrace consume` against a node."""

import json
import os
import signal
import uuid

import pytest

from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.process


def consumed(program, topic, *options):
    return [json.loads(line) for line in program("consume", topic, "--json", *options).splitlines()]


def write(program, topic, *lines, options=()):
    program("produce", topic, *options, stdin=b"".join(line + b"\n" for line in lines))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_come_back_as_records(program, topic, codec):
    lines = [b"line %d" % number for number in range(500)]
    write(program, topic, *lines, options=["--codec", codec, "--partition", "1"])
    assert program("consume", topic).splitlines() == lines
    assert program("consume", topic, "--partition", "0,2") == b""


def test_keys_headers_and_nulls(program, topic):
    options = ["--key-separator", ":", "-H", "a=1", "-H", "a=x=y", "--empty-is-null", "--acks", "1"]
    write(program, topic, b"k:v", b"k:v:w", b":v", b"k:", options=options)
    found = sorted(consumed(program, topic), key=str)
    assert {json.dumps([row["key"], row["value"]]) for row in found} == {
        '["k", "v"]', '["k", "v:w"]', '[null, "v"]', '["k", null]'
    }  # fmt: skip
    assert all(row["headers"] == [["a", "1"], ["a", "x=y"]] for row in found)
    assert len({row["partition"] for row in found if row["key"]}) == 1


def test_files_and_standard_input_in_their_order(program, topic, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"1\n2\n3")
    program("produce", topic, "-p", "0", str(file), "-", stdin=b"4\n\n\xff\n")
    assert program("consume", topic) == b"1\n2\n3\n4\n\n\xff\n"
    assert consumed(program, topic)[-1]["value"] == {"base64": "/w=="}


def test_a_line_without_its_separator_is_named_and_what_stood_before_it_is_kept(program, topic):
    said = program.fails("produce", topic, "-K", "=", "-p", "0", stdin=b"a=1\nb=2\nc\nd=4\n")
    assert "standard input, line 3: key separator '='" in said
    assert program("consume", topic, "--format", "%k-%s ") == b"a-1 b-2 "


@pytest.mark.parametrize(
    ("arguments", "exit_code", "complaint"),
    [
        (["absent"], 1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (["{topic}", "--partition", "3"], 1, "partitions 0 to 2, no partition 3"),
        (["{topic}", "--partition", "x"], 2, "'x' is not a list of partitions"),
        (["{topic}", "--partition", "0-1"], 2, "is more than one partition: expected one number"),
        (["{topic}", "--header", "x"], 2, "'x' is not KEY=VALUE"),
        (["{topic}", "--codec", "rar"], 2, "rar"),
        (["{topic}", "--acks", "2"], 2, "--acks"),
        (["{topic}", "--timeout", "0"], 2, "--timeout"),
        (["{topic}", "no-such-file"], 2, "no-such-file"),
        (["bad topic"], 2, "'bad topic' is not a valid topic name"),
    ],
)
def test_what_can_not_be_is_named(program, topic, arguments, exit_code, complaint):
    arguments = [argument.format(topic=topic) for argument in arguments]
    assert complaint in program.fails("produce", *arguments, stdin=b"line\n", exit_code=exit_code)
    assert program("consume", topic) == b""


def test_a_record_that_is_too_large_is_an_error_that_tells_what_was_lost(program):
    name = f"small-{uuid.uuid4().hex[:8]}"
    program("topics", "create", name, "--config", "max.message.bytes=1000")
    said = program.fails("produce", name, stdin=b"x" * 2_000 + b"\n")
    assert "MESSAGE_TOO_LARGE" in said
    assert "1 records were not acknowledged" in said
    assert "max.message.bytes" in said


def test_the_line_of_a_record_that_is_too_large_is_named(program, tmp_path):
    name = f"small-{uuid.uuid4().hex[:8]}"
    program("topics", "create", name, "--config", "max.message.bytes=1000", "--partitions", "3")
    (tmp_path / "fine").write_bytes(b"a\n" * 50)
    (tmp_path / "large").write_bytes(b"".join(b"%d\n" % number for number in range(20)) + b"x" * 2_000 + b"\nlast\n")
    said = program.fails("produce", name, str(tmp_path / "fine"), str(tmp_path / "large"))
    assert f"{tmp_path}/large, line 21 was not delivered" in said
    assert "MESSAGE_TOO_LARGE" in said


def test_the_line_of_a_record_that_no_buffer_holds_is_named(program, topic):
    said = program.fails("produce", topic, stdin=b"a\n" + b"x" * (32 << 20) + b"\n")
    assert "MESSAGE_TOO_LARGE: standard input, line 2: a record of" in said
    assert program("consume", topic) == b"a\n", "what was read before is delivered"


def test_the_first_ctrl_c_delivers_what_was_read(program, topic):
    run = program.start("produce", topic, "-p", "0")
    run.stdin.write(b"read\n")
    run.stdin.flush()
    with follower(program, topic) as reader:
        assert reader.stdout.readline() == b"read\n"  # without end of input: lines don't wait for more of them
    run.stdin.write(b"read too\npart of a li")
    run.stdin.flush()
    with follower(program, topic, "-p", "0", "--from", "1") as reader:
        assert reader.stdout.readline() == b"read too\n"
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr.read() == b""
    assert program("consume", topic) == b"read\nread too\n"


def test_progress_is_told_on_standard_error_alone(program, topic):
    done = program.run("produce", topic, "--progress", stdin=b"a\nb\n")
    assert done.stdout == b""
    assert b"2 records acknowledged" in done.stderr
    done = program.run("produce", topic, "--progress", "--acks", "0", stdin=b"a\nb\n")
    assert b"2 records sent" in done.stderr, "nobody acknowledged them"
    assert program.run("produce", topic, stdin=b"a\n").stderr == b""


# Reading


class follower:
    """A `consume --follow` that is ended by SIGTERM."""

    def __init__(self, program, topic, *options):
        self.run = program.start("consume", topic, "--follow", *options)

    def __enter__(self):
        return self.run

    def __exit__(self, *_):
        self.run.terminate()
        code = self.run.wait(DEADLINE_S)
        assert code == 128 + signal.SIGTERM, self.run.stderr.read()
        assert self.run.stderr.read() == b""


def test_where_reading_begins_and_ends(program, topic):
    write(program, topic, *[b"%d" % number for number in range(20)], options=["-p", "0"])
    write(program, topic, b"other", options=["-p", "2"])

    def numbers(*options):
        return program("consume", topic, "-p", "0", *options).split()

    assert numbers("--from", "15") == [b"15", b"16", b"17", b"18", b"19"]
    assert numbers("--from", "-2") == [b"18", b"19"]
    assert numbers("--from", "-100")[0] == b"0"
    assert numbers("--from", "latest") == []
    assert numbers("--from", "@-1h")[0] == b"0"
    assert numbers("--from", "@2999-01-01T00:00:00Z") == []
    assert numbers("--from", "5", "--max-messages", "3") == [b"5", b"6", b"7"]
    assert len(program("consume", topic, "--max-messages", "21").split()) == 21
    time_ms = consumed(program, topic, "-p", "0")[7]["timestamp"]
    first = consumed(program, topic, "-p", "0", "--from", f"@{time_ms}")[0]
    assert first["timestamp"] >= time_ms
    assert first["offset"] <= 7
    assert program("consume", topic, "-p", "2", "--format", r"%t/%p/%o/%S\n").decode() == f"{topic}/2/0/5\n"


@pytest.mark.parametrize(
    ("options", "exit_code", "complaint"),
    [
        (["--from", "1"], 1, "OFFSET_OUT_OF_RANGE"),
        (["--from", "soon"], 2, "'soon' is not a position"),
        (["--from", "@soon"], 2, "'soon' is not a time"),
        (["--from", "@2026-11-21T08:30:00"], 2, "has no time zone"),
        (["--partition", "3"], 1, "partitions 0 to 2, no partition 3"),
        (["--partition", "1-"], 2, "'1-' is not a list of partitions"),
        (["--max-messages", "0"], 2, "--max-messages"),
        (["--format", "%z"], 2, "'%z' is not a format token"),
        (["--format", "%s", "--json"], 2, "can't be combined"),
        (["--group", "g", "--partition", "0"], 2, "can't be combined"),
        (["--group", "g", "--from", "5"], 2, "can't be combined with --group"),
        (["--group", ""], 2, "is not a valid group name"),
    ],
)
def test_what_can_not_be_read_is_named(program, topic, options, exit_code, complaint):
    assert complaint in program.fails("consume", topic, *options, exit_code=exit_code)


def test_a_topic_that_is_not_there_can_not_be_read(program):
    assert "UNKNOWN_TOPIC_OR_PARTITION" in program.fails("consume", "absent")


def test_a_follower_goes_on_at_the_end(program, topic):
    write(program, topic, b"before")
    with follower(program, topic) as reader:
        assert reader.stdout.readline() == b"before\n"
        write(program, topic, b"after")
        assert reader.stdout.readline() == b"after\n"


def test_ctrl_c_is_quiet(program, topic):
    write(program, topic, b"before")
    run = program.start("consume", topic, "--follow")
    assert run.stdout.readline() == b"before\n"
    run.send_signal(signal.SIGINT)
    assert run.wait(DEADLINE_S) == 130
    assert run.stderr.read() == b""


def test_a_reader_that_has_gone_is_quiet(program, topic):
    write(program, topic, *[b"x" * 1_000] * 500)
    reading, writing = os.pipe()
    run = program.start("consume", topic, stdout=writing)
    os.close(writing)
    os.read(reading, 10)
    os.close(reading)
    assert run.wait(DEADLINE_S) == 141
    assert run.stderr.read() == b""


def test_a_deleted_topic_ends_its_follower_with_an_error(program, topic):
    write(program, topic, b"before")
    run = program.start("consume", topic, "--follow")
    assert run.stdout.readline() == b"before\n"
    program("topics", "delete", topic)
    assert run.wait(DEADLINE_S) == 1
    assert b"UNKNOWN_TOPIC_OR_PARTITION" in run.stderr.read()


def test_a_disk_that_is_full_is_an_error(program, topic):
    write(program, topic, b"x" * 10_000)
    with open("/dev/full", "wb") as full:
        run = program.start("consume", topic, stdout=full)
    assert run.wait(DEADLINE_S) == 1
    said = run.stderr.read()
    assert b"No space left on device" in said
    assert b"Traceback" not in said
