"""Mounts that only a node sees: a small /dev/shm, a small log directory. Needs root.

Used by: the campaign. A process that does nothing keeps the mount namespace over restarts of the node; when it ends, the mounts
and what is on them are gone. From outside, files are reached through its `/proc/PID/root`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support import children


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
        self._keeper.stdin.close()
        self._keeper.wait()
