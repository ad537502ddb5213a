"""A small file that is replaced as a whole: what a reader finds after a failure of each step."""

import os
import stat

import pytest

from headrace import durable_file
from headrace.durable_file import replace_file
from tests.support.altered import altered


def failing(name):
    def fail(*_args, **_more):
        raise OSError(5, "injected")

    return altered(os, **{name: fail})


def test_a_file_is_written_with_its_mode_whatever_was_left(tmp_path):
    path = tmp_path / "small"
    (tmp_path / "small.tmp").write_text("left by a crash")
    (tmp_path / "small.tmp").chmod(0o644)
    replace_file(path, b"one", mode=0o600)
    replace_file(path, b"two", mode=0o600)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["small"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_step_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "small"
    replace_file(path, b"old")
    monkeypatch.setattr(durable_file, "os", failing(step))
    with pytest.raises(OSError, match="injected"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["small"]


def test_file_and_directory_are_synced_in_this_order(tmp_path, monkeypatch):
    calls = []

    def fsync(fd):
        calls.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")

    def replace(source, target):
        calls.append("rename")
        os.replace(source, target)

    monkeypatch.setattr(durable_file, "os", altered(os, fsync=fsync, replace=replace))
    replace_file(tmp_path / "small", b"new")
    assert calls == ["file", "rename", "directory"]
