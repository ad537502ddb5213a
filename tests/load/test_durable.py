"""Directories are on the disk before anything in them counts, whoever made them."""

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
