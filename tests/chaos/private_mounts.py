"""Mounts that only a node sees: a small /dev/shm, a small log directory, and one file that fills it. Needs root.

Used by: the campaigns. A process that does nothing keeps the mount namespace over restarts of the node; when it ends, the mounts
and what is on them are gone. From outside, files are reached through its `/proc/PID/root`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.support import children

FILLER = "filled-by-chaos"
CHUNK = bytes(1 << 20)


class PrivateMounts:
    """A mount namespace with some tmpfs in it.

    sizes    bytes of each, by directory, which has to be there
    raises   OSError, where this process may not have any
    """

    def __init__(self, sizes: Mapping[Path, int]) -> None:
        mounts = " && ".join(f"mount -t tmpfs -o size={size} tmpfs '{path}'" for path, size in sizes.items())
        self._keeper = children.start(
            ["unshare", "--mount", "sh", "-c", f"{mounts} && echo mounted && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._keeper.stdout is not None
        assert self._keeper.stderr is not None
        if self._keeper.stdout.readline() != "mounted\n":
            self._keeper.kill()
            raise OSError(f"no mounts of our own: {self._keeper.stderr.read().strip()}")

    def command(self, command: list[str]) -> list[str]:
        """A command that runs with these mounts, as the same process."""
        return ["nsenter", f"--mount=/proc/{self._keeper.pid}/ns/mnt", "--", *command]

    def path(self, path: Path) -> Path:
        """A path in there, as the others see it."""
        return Path(f"/proc/{self._keeper.pid}/root{path}")

    def close(self) -> None:
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        assert self._keeper.stderr is not None
        for stream in (self._keeper.stdin, self._keeper.stdout, self._keeper.stderr):
            stream.close()
        self._keeper.wait()


def fill(directory: Path) -> None:
    """One file takes all the room that there is in this moment."""
    descriptor = os.open(directory / FILLER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        chunk = CHUNK
        while chunk:
            try:
                os.write(descriptor, chunk)
            except OSError:
                chunk = chunk[: len(chunk) // 2]
    finally:
        os.close(descriptor)


def give_room(directory: Path) -> None:
    """What `fill` took."""
    with suppress(FileNotFoundError):
        (directory / FILLER).unlink()
