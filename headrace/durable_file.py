"""A small file that is replaced as a whole, and outlives a loss of power: what must be durable outside of a partition's log.

Runs in: the controller process (its session, `meta.properties`). Logs and checkpoints have the same from `log/disk.py`,
where tests make it fail.

    1  PATH.tmp written and synced    a crash: the old file, and a remainder that the next write replaces
    2  renamed to PATH                a crash: the old file or the new one, whole
    3  the directory synced           the new one
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, data: bytes, mode: int = 0o640) -> None:
    """Write a file, durably.

    mode     of the new file, bits that the umask leaves
    raises   OSError; the old file is there then, or the new one where only the directory was not synced
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # one that was left has its own mode
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
