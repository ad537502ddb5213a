"""What of a recovery point counts after a truncation, and after several."""

import pytest

from headrace.log.disk import Disk
from headrace.log.state.truncation_mark import TRUNCATION_FILE, TruncationMark


def test_without_a_file_everything_counts(tmp_path):
    mark = TruncationMark(tmp_path, Disk())
    assert (mark.bound(50), mark.distrusted_until) == (50, -1)
    mark.remove()


def test_what_was_cut_does_not_count_until_the_file_goes(tmp_path):
    TruncationMark(tmp_path, Disk()).write(30, 80)
    mark = TruncationMark(tmp_path, Disk())
    assert (mark.bound(50), mark.bound(20), mark.distrusted_until) == (30, 20, 80)
    mark.remove()
    assert (mark.bound(50), mark.distrusted_until) == (50, -1)
    assert not (tmp_path / TRUNCATION_FILE).exists()


def test_a_second_truncation_widens_the_doubt_and_never_narrows_it(tmp_path):
    mark = TruncationMark(tmp_path, Disk())
    mark.write(30, 80)
    mark.write(60, 70)
    assert (mark.bound(50), mark.distrusted_until) == (30, 80)
    mark.write(10, 90)
    again = TruncationMark(tmp_path, Disk())
    assert (again.bound(50), again.distrusted_until) == (10, 90)


@pytest.mark.parametrize("content", [b"0\n1\nx y\n", b"\xff\xfe", b"0\n1\n5\n"])
def test_a_file_that_cannot_be_read_means_that_nothing_counts(tmp_path, content):
    (tmp_path / TRUNCATION_FILE).write_bytes(content)
    mark = TruncationMark(tmp_path, Disk())
    assert mark.bound(1 << 40) == 0
    assert mark.distrusted_until > 1 << 60
