"""Files that are whole and on the disk before anything names them."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def sync_file(path: str | os.PathLike[str]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


sync_directory = sync_file  # its entries
sync_everything = os.sync


# of a directory that may not be listed, or lies on a file system that syncs no directories (CIFS, some of FUSE)
UNSYNCABLE = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP)

_synced: set[Path] = set()  # directories whose entries this process has synced


def make_directory(path: Path) -> None:
    """The directory and those above it, with their entries on the disk: also where another process made it, which may have died
    before it synced the entry. That of a directory that was there is left where its parent can't be opened (0711, another owner) or
    synced: who made it could. Of a new one all file systems are synced instead. raises OSError
    """
    is_new = not path.is_dir()
    if path in _synced and not is_new:
        return
    if is_new:
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
    try:
        sync_directory(path.parent)
    except OSError as failure:
        if failure.errno not in UNSYNCABLE:
            raise
        if is_new:
            sync_everything()
    _synced.add(path)


def write_synced(path: Path, data: bytes) -> None:
    """A new file with these bytes, on the disk; its entry is not yet. raises FileExistsError"""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
