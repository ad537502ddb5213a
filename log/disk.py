"""The system calls a log makes, as an object: tests pass one that runs out of space, fails to sync, or loses pages and names.

Whatever changes a file or a name in `log/` and `workers/` is called here, and nowhere else (`tests/test_disk_calls.py`): a call
beside this object is one that no test of a power loss sees. A write is complete or raises; short writes are continued here.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.errors import EXHAUSTED, TOO_MANY_FILES, RoomWanted, StorageExhausted, StorageFailed
from headrace.limits import IOV_MAX

Buffer = bytes | bytearray | memoryview

_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE, linux/falloc.h
_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_BEGIN_WRITE: Final = 2  # SYNC_FILE_RANGE_WRITE, linux/fs.h
_libc.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


def storage_failure(what: str, failure: OSError, *, is_sync: bool = False) -> StorageFailed:
    """Our error for the system's.

    is_sync   a failed fsync is final, whatever the reason: the kernel may have dropped what it could not write (too
              many open files is what its `open` says)
    """
    passing = TOO_MANY_FILES if is_sync else EXHAUSTED
    if failure.errno not in passing:
        return StorageFailed(f"{what}: {failure}")
    exhausted = StorageExhausted(f"{what}: {failure}")
    if isinstance(failure, RoomWanted):
        exhausted.wanted_bytes = failure.wanted_bytes
    return exhausted


class Disk:
    """The real one.

    taken_bytes   written, or set aside ahead of a file's end, since `take_taken`: free space goes by about as much
    """

    taken_bytes: int = 0

    def take_taken(self) -> int:
        """`taken_bytes`, which begins again at 0."""
        taken, self.taken_bytes = self.taken_bytes, 0
        return taken

    def write_all(self, fd: int, buffers: Sequence[Buffer], position: int) -> int:
        """Write consecutive buffers from `position`; returns the bytes written.

        raises   OSError; the file may then hold a part of them
        """
        written = 0
        count = len(buffers)
        for first in range(0, count, IOV_MAX):
            chunk = buffers if count <= IOV_MAX else buffers[first : first + IOV_MAX]
            wanted = 0
            for buffer in chunk:
                wanted += len(buffer)
            done = self.pwritev(fd, chunk, position + written)
            while done < wanted:  # signals and full disks cut writes short
                step = self.pwritev(fd, _rest_of(chunk, done), position + written + done)
                if not step:
                    raise OSError(errno.EIO, f"{done} of {wanted} bytes written, then nothing more")
                done += step
            written += wanted
        self.taken_bytes += written
        return written

    def replace_file(self, path: Path, data: bytes, *, is_durable: bool = True) -> None:
        """Write a small file as a whole: a temporary one, renamed over it.

        is_durable   fsync file and directory, so that a crash of the machine leaves the old or the new one. Without
                     it only a crash of the process does; the reader then has to notice a file that is cut short
        """
        temporary = path.with_name(path.name + ".tmp")
        fd = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self.write_all(fd, [data], 0)
            if is_durable:
                self.fsync(fd)
        except OSError:
            with suppress(OSError):
                self.unlink(temporary)  # on a full disk it may hold the last block
            raise
        finally:
            os.close(fd)
        self.rename(temporary, path)
        if is_durable:
            self.sync_directory(path.parent)

    def sync_directory(self, directory: Path) -> None:
        """Make creations and renames in a directory durable."""
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.fsync(fd)
        finally:
            os.close(fd)

    def remove_file(self, path: Path) -> None:
        """Unlink a file, if it is there."""
        with suppress(FileNotFoundError):
            self.unlink(path)

    def remove_durably(self, path: Path) -> None:
        """Unlink a file, if it is there, and make that durable. Nothing is done where there is no descriptor for it. raises OSError"""
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.remove_file(path)
            self.fsync(fd)
        finally:
            os.close(fd)

    def remove_tree(self, path: Path) -> None:
        """A directory and all in it, as far as that works; file by file, for there may be thousands. No link is followed."""
        if path.is_symlink():
            return
        with suppress(OSError):
            for name in os.listdir(path):
                one = path / name
                if one.is_dir() and not one.is_symlink():
                    self.remove_tree(one)
                else:
                    with suppress(OSError):
                        self.unlink(one)
            self.remove_directory(path)

    # One system call each

    def preadv(self, fd: int, buffers: Sequence[bytearray | memoryview], position: int) -> int:
        """For a caller that reads a file through, however long that is."""
        return os.preadv(fd, buffers, position)

    def open(self, path: Path, flags: int) -> int:
        """A file to be written, made where the flags say so."""
        return os.open(path, flags | os.O_CLOEXEC, 0o640)

    def make_directory(self, path: Path) -> None:
        """A directory whose parent is there. raises FileExistsError, OSError"""
        os.mkdir(path, 0o750)

    def remove_directory(self, path: Path) -> None:
        """An empty one. raises OSError"""
        os.rmdir(path)

    def pwritev(self, fd: int, buffers: Sequence[Buffer], position: int) -> int:
        return os.pwritev(fd, buffers, position)

    def fdatasync(self, fd: int) -> None:
        os.fdatasync(fd)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def fallocate(self, fd: int, position: int, size: int) -> None:
        os.posix_fallocate(fd, position, size)

    def reserve(self, fd: int, position: int, size: int) -> None:
        """Have blocks for what will be written there; the file stays as long as it is. raises OSError"""
        if _libc.fallocate(fd, _KEEP_SIZE, position, size):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        self.taken_bytes += size

    def grew(self, fd: int, end: int) -> None:
        """A file has got some MiB more, and ends there. Nothing to do here."""

    def trim(self, fd: int) -> None:
        """Give back what `reserve` took after the file's end. Not a write: when it was last written stays. raises OSError"""
        status = os.fstat(fd)
        os.ftruncate(fd, status.st_size)
        with suppress(PermissionError):  # the file is another user's, whose group may write to it
            os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def free_bytes(self, directory: Path) -> int:
        """What is left for an unprivileged writer; OSError, where the directory is gone or its disk is."""
        volume = os.statvfs(directory)
        return volume.f_bavail * volume.f_frsize

    def link(self, source: Path, target: Path) -> None:
        os.link(source, target)

    def unlink(self, path: Path) -> None:
        os.unlink(path)


def begin_write_out(fd: int, end: int) -> None:
    """Have the kernel write the file out up to `end`, without waiting for it: only until its request queue has room. raises OSError"""
    if _libc.sync_file_range(fd, 0, end, _BEGIN_WRITE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _rest_of(buffers: Sequence[Buffer], done: int) -> list[memoryview]:
    """What is left of `buffers` after their first `done` bytes."""
    left = []
    for buffer in buffers:
        size = len(buffer)
        if done < size:
            left.append(memoryview(buffer)[done:])
        done = max(0, done - size)
    return left
