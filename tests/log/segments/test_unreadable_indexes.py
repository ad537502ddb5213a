"""An index that the disk can't give: it is never mapped, for that would kill the process, and is made again from its segment."""

import errno
import mmap
import os

import pytest

from headrace.errors import StorageFailed
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, path_of
from headrace.log.reading import aborted_transactions, index_reader
from headrace.log.segments import index_file
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from tests.support.altered import altered
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch, facts

CONFIG = LogConfig(segment_bytes=6000, index_interval_bytes=300)


def eio():
    return OSError(errno.EIO, os.strerror(errno.EIO))


class BadBlocks(Disk):
    """A disk that can't give one file. Another file of that name it gives."""

    def __init__(self, path, monkeypatch):
        self.path = path
        self.inode = path.stat().st_ino
        self._file = path.open("rb")  # so that its inode is not used again
        self.is_read_only = False
        monkeypatch.setattr(index_file, "mmap", altered(mmap, mmap=self._mmap))
        monkeypatch.setattr(index_reader, "os", altered(os, pread=self._pread))

    def _check(self, fd):
        if os.fstat(fd).st_ino == self.inode:
            raise eio()

    def _mmap(self, fd, *how, **more):
        assert os.fstat(fd).st_ino != self.inode, "mapped: the next look into it would be a SIGBUS"
        return mmap.mmap(fd, *how, **more)

    def _pread(self, fd, size, position):
        self._check(fd)
        return os.pread(fd, size, position)

    def preadv(self, fd, buffers, position):
        self._check(fd)
        return super().preadv(fd, buffers, position)

    def unlink(self, path):
        if self.is_read_only:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        super().unlink(path)


def written(maker):
    """A log of three segments, and what is known of it."""
    log = maker.open(CONFIG)
    while len(log.segment_bases) < 3 or log.end_position < 3000:
        log.append_as_leader([batch(timestamp_ms=NOW_MS + log.log_end_offset)], 0, NOW_MS)
    known = facts(log)
    bases = list(log.segment_bases)
    log.close()
    return known, bases


def entries(maker):
    found = {path.name: path.read_bytes().rstrip(b"\0") for path in maker.directory.glob("*index")}
    return {name: data for name, data in found.items() if data}


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("place", [0, 2], ids=["rolled", "active"])
@pytest.mark.parametrize("suffix", [INDEX_SUFFIX, TIME_INDEX_SUFFIX])
def test_one_is_made_again(maker, monkeypatch, caplog, suffix, place, is_clean):
    known, bases = written(maker)
    before = entries(maker)
    path = path_of(maker.directory, bases[place], suffix)
    maker.disk = BadBlocks(path, monkeypatch)
    log = maker.open(CONFIG, clean=is_clean, recovery_point=known[-1])
    assert facts(log) == known
    log.close()
    assert entries(maker) == before
    assert str(path) in caplog.text


def test_where_that_fails_too_the_failure_names_the_file(maker, monkeypatch):
    _known, bases = written(maker)
    path = path_of(maker.directory, bases[-1], INDEX_SUFFIX)
    maker.disk = BadBlocks(path, monkeypatch)
    maker.disk.is_read_only = True
    with pytest.raises(StorageFailed, match=path.name):
        maker.open(CONFIG, clean=True)


@pytest.mark.parametrize("place", [0, -1], ids=["rolled", "active"])
def test_a_transaction_index_is_filled_again(maker, monkeypatch, place):
    log = maker.open(CONFIG)
    sequence = 0
    while len(log.segment_bases) < 2 or log.end_position < 2000:
        kind = {"producer_id": 5, "producer_epoch": 0, "base_sequence": sequence, "attributes": TRANSACTIONAL_BIT}
        log.append_as_leader([batch(**kind)], 0, NOW_MS)
        log.append_marker(5, 0, 0, True, 0, NOW_MS)
        sequence += 1
    known = facts(log)
    assert len(known[3]) == sequence
    bases = list(log.segment_bases)
    log.close()
    path = path_of(maker.directory, bases[place], TXN_INDEX_SUFFIX)
    inode = path.stat().st_ino
    keep = os.open(path, os.O_RDONLY)  # so that its inode is not used again

    def pread(fd, size, position):
        if os.fstat(fd).st_ino == inode:
            raise eio()
        return os.pread(fd, size, position)

    monkeypatch.setattr(aborted_transactions, "os", altered(os, pread=pread))
    log = maker.open(CONFIG, clean=True)
    assert facts(log)[3] == known[3]
    log.close()
    os.close(keep)
