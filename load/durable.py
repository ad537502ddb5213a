"""Files that are whole and on the disk before anything names them."""

from __future__ import annotations

import os
from pathlib import Path


def sync_file(path: str | os.PathLike[str]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


sync_directory = sync_file  # its entries


_synced: set[Path] = set()  # directories whose entries this process has synced


def make_directory(path: Path) -> None:
    """The directory and those above it, with their entries on the disk: also where another process made it, which may have died
    before it synced the entry."""
    if path in _synced and path.is_dir():
        return
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(exist_ok=True)
    sync_directory(path.parent)
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
