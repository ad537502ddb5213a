"""dump-log and verify from outside: output for people, lines of JSON, exit codes, progress."""

import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
import zlib

import pytest

from headrace.cli import progress
from headrace.cli.dump_text import time_text
from headrace.cli.progress import ProgressLine, bytes_text
from headrace.protocol.record_batch import build_batch, compute_crc
from tests.support.log_damage import BATCHES, RECORDS_PER_BATCH, flip, write_log

pytestmark = pytest.mark.process

HOSTILE_BYTES = 700 << 20
MEMORY_BYTES_MAX = HOSTILE_BYTES  # of address space, Python and its libraries included
FIRST = "00000000000000000000"


def headrace(*arguments):
    command = [sys.executable, "-m", "headrace.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    return write_log(tmp_path)


def test_dump_log_tells_people_what_lies_there(folder):
    done = headrace("dump-log", *sorted(folder.glob("*")), "--data")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert sum(line.startswith("    offset ") for line in lines) == BATCHES * RECORDS_PER_BATCH
    assert any("v2 zstd" in line and "producer 5:0" in line and line.endswith("ok") for line in lines)
    assert any("2023-11-14T22:13:20.000Z" in line for line in lines)


def test_dump_log_as_json_is_an_item_a_line(folder):
    done = headrace("dump-log", folder / f"{FIRST}.log", "--json")
    items = [json.loads(line) for line in done.stdout.splitlines()]
    assert [items[0]["type"], items[-1]["type"]] == ["file", "end"]
    assert {item["type"] for item in items[1:-1]} == {"batch"}


def test_dump_log_ends_with_1_and_names_the_fault_on_standard_error(folder):
    flip(folder / f"{FIRST}.log", 100)
    done = headrace("dump-log", folder / f"{FIRST}.log")
    assert done.returncode == 1
    assert done.stderr.startswith(f"fault: {folder / FIRST}.log byte 0: its checksum is wrong")
    assert "WRONG" in done.stdout
    assert headrace("dump-log", folder / "nowhere.log").returncode == 1
    assert headrace("dump-log", folder / "nowhere").stderr == f"fault: {folder}/nowhere: No such file or directory\n"
    assert f"fault: {folder}: is a directory: pass the files in it" in headrace("dump-log", folder).stderr


def test_dump_log_ends_quietly_when_its_reader_has_seen_enough(folder):
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "headrace.cli.main", "dump-log", str(folder / f"{FIRST}.log")]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert done.stderr == ""


def test_verify_of_a_sound_and_of_a_damaged_directory(folder):
    done = headrace("verify", folder.parent)
    assert done.returncode == 0, done.stdout
    assert f"{BATCHES} batches, {BATCHES * RECORDS_PER_BATCH} records" in done.stdout
    assert "no faults" in done.stdout
    flip(folder / f"{FIRST}.log", 100)
    done = headrace("verify", folder.parent, "--processes", "2")
    assert done.returncode == 1
    assert f"fault: {folder / FIRST}.log byte 0: the checksum of the batch at offset 0" in done.stdout
    assert " -> " in done.stdout
    done = headrace("verify", folder.parent, "--json")
    items = [json.loads(line) for line in done.stdout.splitlines()]
    assert (items[-1]["type"], items[-1]["faults"]) == ("result", 1)


def test_verify_of_what_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        done = headrace("verify", path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"headrace: {path}: ")
        assert "Traceback" not in done.stderr


def test_verify_of_a_directory_that_holds_no_logs_finds_no_fault_in_them(tmp_path):
    (tmp_path / "conf.d-1").mkdir()
    (tmp_path / "conf.d-1" / "site.conf").write_text("")
    (tmp_path / ".lock").write_text("")
    for path in (tmp_path, "/etc"):
        done = headrace("verify", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"headrace: {path}: not a log directory: no meta.properties, no checkpoint, no segment in a partition\n"
        )


def test_verify_names_the_log_directories_below_the_one_that_was_given(folder, tmp_path):
    logs = folder.parent.rename(tmp_path.parent / f"{tmp_path.name}-logs")
    home = tmp_path.parent / f"{tmp_path.name}-home"
    for name in ("logs", "more"):
        shutil.copytree(logs, home / name)
    done = headrace("verify", home)
    assert done.returncode == 1
    assert f"below it there is {home}/logs, {home}/more" in done.stderr
    assert headrace("verify", home / "logs").returncode == 0


def test_verify_of_a_log_directory_without_a_partition_yet_is_sound(tmp_path):
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=0\n")
    done = headrace("verify", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_verify_calls_the_nodes_own_files_no_strays(node):
    done = headrace("verify", node.log_dir, "--json", "-q")
    strays = [
        item
        for item in map(json.loads, done.stdout.splitlines())
        if "does not belong in a log directory" in item.get("what", "")
    ]
    assert (node.log_dir / ".headrace-session").exists()
    assert strays == []


class Terminal:
    """Standard error, a terminal's or a file's."""

    def __init__(self, is_terminal):
        self.is_terminal = is_terminal
        self.text = ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, "\r\x1b[K0\r\x1b[K1\r\x1b[K"), (False, "1\n2\n")])
def test_progress_rewrites_a_line_on_a_terminal_and_writes_one_now_and_then_elsewhere(monkeypatch, is_terminal, shown):
    now_s = [0.0]
    monkeypatch.setattr(progress.sys, "stderr", Terminal(is_terminal))
    line = ProgressLine(now_s=lambda: now_s[0])
    for second in (0, 0.1) if is_terminal else (1, 9):
        now_s[0] = second
        line.show("0")
    for text, second in (("1", 0.2 if is_terminal else 10), ("2", 0.3 if is_terminal else 20)):
        now_s[0] = second
        line.show(text)
    line.clear()
    assert progress.sys.stderr.text == shown


def test_verify_on_a_terminal_leaves_no_line_behind(folder):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "headrace.cli.main", "verify", str(folder.parent)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert shown.startswith("\r\x1b[Kverify ")
    assert shown.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB")]
)
def test_sizes_read_well(size, text):
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [(-1, "-1"), (0, "1970-01-01T00:00:00.000Z"), (2**62, str(2**62)), (1, "1970-01-01T00:00:00.001Z")],
)
def test_times_read_well(timestamp_ms, text):
    assert time_text(timestamp_ms) == text


def limited(bytes_max):
    resource.setrlimit(resource.RLIMIT_AS, (bytes_max, bytes_max))


@pytest.mark.parametrize("command", [["dump-log", "--deep"], ["verify", "--deep", "-q", "--processes", "1"]])
def test_hostile_segments_are_named_within_bounded_memory(tmp_path, command):
    """An entry that large in a sparse file, and as many zeros in gzip."""
    folder = tmp_path / "hostile-0"
    folder.mkdir()
    large = bytearray(build_batch([(b"k", b"v")]))
    large[8:12] = HOSTILE_BYTES.to_bytes(4, "big")
    with open(folder / f"{0:020d}.log", "wb") as file:
        file.write(large)
        file.truncate(HOSTILE_BYTES + 12)
    engine = zlib.compressobj(wbits=31)
    bomb = b"".join(engine.compress(bytes(1 << 20)) for _ in range(HOSTILE_BYTES >> 20)) + engine.flush()
    batch = bytearray(build_batch([], base_offset=5, attributes=1) + bomb)
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[57:61] = (1).to_bytes(4, "big")
    batch[17:21] = compute_crc(batch).to_bytes(4, "big")
    (folder / f"{5:020d}.log").write_bytes(batch)
    files = sorted(folder.glob("*.log")) if command[0] == "dump-log" else [folder]
    done = subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", *command, *map(str, files)],
        capture_output=True, text=True, preexec_fn=lambda: limited(MEMORY_BYTES_MAX),
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = done.stdout + done.stderr
    assert re.search(rf"fault: .*/{0:020d}\.log byte 0: .*checksum", said)
    assert re.search(
        rf"fault: .*/{5:020d}\.log byte 0: .*records .*can't be read: gzip: decompresses to more than", said
    )


@pytest.mark.parametrize("is_json", [True, False])
def test_names_that_are_no_text_or_move_the_cursor_are_shown_escaped(folder, is_json):
    names = [b"\xff.log", b"\x1b[2J.log", b"two\nlines.log", "läuft.log".encode()]
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(b"?")
    options = ["--json"] if is_json else []
    for command in (["verify", folder.parent, "-q"], ["dump-log", *(folder / os.fsdecode(name) for name in names)]):
        done = headrace(*command, *options)
        assert "Traceback" not in done.stderr
        said = done.stdout + done.stderr
        assert (
            sum(
                line.startswith(("note:", "fault:", '{"type": "note"', '{"type": "fault"'))
                for line in said.splitlines()
            )
            == 4
        )
        assert "\x1b" not in said
