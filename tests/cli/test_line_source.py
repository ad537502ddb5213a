import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.cli import line_source
from headrace.cli.line_source import BadLine, read_lines


@pytest.fixture
def wake():
    fds = os.pipe()
    yield fds
    for fd in fds:
        os.close(fd)


def contents(paths, wake, idle_ms=1_000):
    return [line.content for line in read_lines(paths, wake[0], idle_ms) if line is not None]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")), max_size=8),
    st.booleans(),
    st.integers(1, 9),
)
def test_lines_come_back_however_they_are_read(tmp_path, wake, monkeypatch, lines, is_ended, read_bytes):
    monkeypatch.setattr(line_source, "READ_BYTES", read_bytes)
    path = tmp_path / "lines"
    path.write_bytes(b"\n".join(lines) + (b"\n" if is_ended and lines else b""))
    expected = lines if is_ended or not lines or lines[-1] else lines[:-1]
    assert contents([path], wake) == expected


def test_files_one_after_the_other_and_where_each_line_stands(tmp_path, wake):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"1\n2")
    found = list(read_lines([tmp_path / "a", tmp_path / "b"], wake[0], 1_000))
    assert [(line.source[-1], line.number, line.content) for line in found] == [
        ("a", 1, b"1"),
        ("a", 2, b"2"),
        ("b", 1, b"1"),
        ("b", 2, b"2"),
    ]
    assert found[3].place.endswith("b, line 2")


def test_whoever_waits_for_lines_is_told_so_and_a_signal_ends_it(tmp_path, wake):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR)
    lines = read_lines([path], wake[0], 1)
    assert next(lines) is None
    os.write(writer, b"one\ntw")
    assert next(lines).content == b"one"
    assert next(lines) is None
    os.write(writer, b"o\n")
    assert next(lines).content == b"two"
    os.write(wake[1], b"\0")
    assert list(lines) == []
    os.close(writer)


def test_a_line_without_end_is_named(tmp_path, wake, monkeypatch):
    monkeypatch.setattr(line_source, "LINE_BYTES_MAX", 100)
    monkeypatch.setattr(line_source, "READ_BYTES", 64)
    path = tmp_path / "long"
    path.write_bytes(b"short\n" + b"x" * 1_000)
    with pytest.raises(BadLine, match=r"long, line 2: longer than 100 bytes"):
        contents([path], wake)


def test_what_can_not_be_read_is_named(tmp_path, wake):
    with pytest.raises(BadLine, match=r"Is a directory"):
        contents([tmp_path], wake)
