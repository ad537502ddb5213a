"""Log directories that are not what a node left: emptied, older, empty for a while."""

import pytest

from tests.chaos.swapped_disks import copy_of, empty, put_aside, to_aside, to_copy


@pytest.fixture
def log_dir(tmp_path):
    path = tmp_path / "logs-1"
    (path / "t-0").mkdir(parents=True)
    (path / "t-0" / "0.log").write_text("old")
    return path


def test_an_emptied_one_has_nothing(log_dir):
    empty(log_dir)
    assert list(log_dir.iterdir()) == []


def test_an_older_one_has_what_it_had(log_dir):
    copy_of(log_dir)
    (log_dir / "t-0" / "0.log").write_text("new")
    (log_dir / "t-1").mkdir()
    to_copy(log_dir)
    assert [path.name for path in log_dir.iterdir()] == ["t-0"]
    assert (log_dir / "t-0" / "0.log").read_text() == "old"


def test_a_copy_replaces_the_one_before(log_dir):
    copy_of(log_dir)
    (log_dir / "t-0" / "0.log").write_text("newer")
    copy_of(log_dir)
    to_copy(log_dir)
    assert (log_dir / "t-0" / "0.log").read_text() == "newer"


def test_one_that_is_away_comes_back_and_what_was_written_in_its_place_is_gone(log_dir):
    put_aside(log_dir)
    assert list(log_dir.iterdir()) == []
    (log_dir / "t-9").mkdir()
    to_aside(log_dir)
    assert [path.name for path in log_dir.iterdir()] == ["t-0"]
    assert [path.name for path in log_dir.parent.iterdir()] == ["logs-1"]
