"""Directories are on the disk before anything in them counts, whoever made them."""

import errno

import pytest

from headrace.load import durable


def test_the_entry_of_a_directory_that_another_process_made_is_synced_once(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(durable, "sync_directory", synced.append)
    monkeypatch.setattr(durable, "_synced", set())
    path = tmp_path / "topic=clicks" / "hour=1"
    path.mkdir(parents=True)  # it died before it synced
    for _ in range(2):
        durable.make_directory(path)
    assert synced == [path.parent]
    durable.make_directory(path.parent / "hour=2" / "deep")
    assert synced[1:] == [path.parent.parent, path.parent, path.parent / "hour=2"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EINVAL])
def test_a_parent_that_can_not_be_synced_ends_nothing(tmp_path, monkeypatch, code):
    """A table below a directory of another owner, mode 0711; one on a mount that syncs no directories."""
    everything = []
    monkeypatch.setattr(durable, "_synced", set())
    monkeypatch.setattr(durable, "sync_directory", refused(code))
    monkeypatch.setattr(durable, "sync_everything", lambda: everything.append(1))
    durable.make_directory(tmp_path)
    assert not everything, "it was there"
    durable.make_directory(tmp_path / "new")
    assert everything


def test_a_sync_of_a_directory_that_fails_is_raised(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "_synced", set())
    monkeypatch.setattr(durable, "sync_directory", refused(errno.EIO))
    for path in (tmp_path, tmp_path / "new"):
        with pytest.raises(OSError, match="refused"):
            durable.make_directory(path)


def refused(code):
    def refuse(_path):
        raise OSError(code, "refused")

    return refuse
