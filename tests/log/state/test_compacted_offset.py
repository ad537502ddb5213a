"""What is said of compaction in a log's directory, and what is not known."""

import errno

import pytest

from headrace.log.disk import Disk
from headrace.log.state.compacted_offset import COMPACTED_FILE, begin_compacted, compacted_offset, raise_compacted


class FailingWrites(Disk):
    error = errno.ENOSPC

    def pwritev(self, fd, buffers, position):
        raise OSError(self.error, "injected")


def test_it_rises_and_never_falls(tmp_path):
    assert compacted_offset(tmp_path) is None
    begin_compacted(tmp_path, Disk())
    for offset, known in ((30, 30), (20, 30), (31, 31)):
        raise_compacted(tmp_path, offset, 70, Disk())
        assert compacted_offset(tmp_path) == known


@pytest.mark.parametrize("content", ["", "0\n0\n", "0\n1\nx\n", "\0" * 8, "0\n2\n1\n2\n"])
def test_a_file_that_cannot_be_read_says_nothing(tmp_path, content):
    (tmp_path / COMPACTED_FILE).write_text(content)
    assert compacted_offset(tmp_path) is None
    raise_compacted(tmp_path, 10, 70, Disk())
    assert compacted_offset(tmp_path) == 70


def test_one_that_finds_no_room_goes_and_one_that_the_disk_refuses_stays(tmp_path):
    begin_compacted(tmp_path, Disk())
    disk = FailingWrites()
    disk.error = errno.EIO
    with pytest.raises(OSError, match="injected"):
        raise_compacted(tmp_path, 10, 70, disk)
    assert compacted_offset(tmp_path) == 0
    raise_compacted(tmp_path, 10, 70, FailingWrites())
    assert compacted_offset(tmp_path) is None
