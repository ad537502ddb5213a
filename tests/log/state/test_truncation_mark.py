"""What of a recovery point, a log start and a high watermark counts after a truncation, and after several."""

import pytest

from headrace.log.disk import Disk
from headrace.log.state.truncation_mark import TRUNCATION_FILE, TakenBack, TruncationMark


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


@pytest.mark.parametrize("content", [b"0\n1\nx y\n", b"\xff\xfe", b"0\n1\n5\n", b"0\n2\n5 9\n5\n"])
def test_a_file_that_cannot_be_read_means_that_nothing_counts(tmp_path, content):
    (tmp_path / TRUNCATION_FILE).write_bytes(content)
    mark = TruncationMark(tmp_path, Disk())
    assert mark.bound(1 << 40) == 0
    assert mark.distrusted_until > 1 << 60


def test_committed_records_that_went_put_a_range_of_starts_and_marks_in_doubt(tmp_path):
    TruncationMark(tmp_path, Disk()).write(0, 80, TakenBack(20, 50, 80))
    mark = TruncationMark(tmp_path, Disk())
    assert [mark.bound_start(offset) for offset in (10, 20, 21, 50, 51)] == [10, 20, 20, 20, 51]
    assert [mark.bound_high_watermark(offset) for offset in (20, 21, 80, 81)] == [20, 20, 20, 81]
    mark.write(60, 70)
    assert TruncationMark(tmp_path, Disk()).bound_start(50) == 20, "another truncation says nothing of that"
    mark.write(15, 90, TakenBack(15, 20, 90))
    again = TruncationMark(tmp_path, Disk())
    assert (again.bound_start(50), again.bound_high_watermark(90)) == (15, 15)
    again.remove()
    assert (again.bound_start(50), again.bound_high_watermark(90)) == (50, 90)


def test_a_copy_that_takes_a_logs_place_doubts_the_same_starts_and_marks(tmp_path):
    for name in ("log", "copy", "other"):
        (tmp_path / name).mkdir()
    log, copy, other = (TruncationMark(tmp_path / name, Disk()) for name in ("log", "copy", "other"))
    log.write(0, 80, TakenBack(20, 50, 80))
    copy.take_over(log, 60)
    assert (copy.bound_start(50), copy.bound_high_watermark(70)) == (20, 20)
    assert (copy.bound(60), copy.bound(70), copy.distrusted_until) == (60, 60, 80), "all that it has is synced"
    copy.take_over(other, 60)
    other.take_over(other, 60)
    assert other.distrusted_until == -1
