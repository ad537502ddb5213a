"""What one foreign suite is: how it is brought, how it runs against a broker, what it says.

A suite comes from a package registry by name and is kept in `build/foreign` (not committed). It is run against an external
broker, and says of each of its tests whether it passed, failed or was skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "foreign"
KAFKA_VERSION = "3.9.0"  # what the peer is, and what clients that ask for a version are told

TESTING = "testing"  # the peer that a suite starts itself, by `headrace.testing`

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
SAID_CHARS_MAX = 300


class Outcome(NamedTuple):
    """One test of a suite."""

    test: str
    result: str  # PASSED, FAILED or SKIPPED
    said: str = ""  # why, in the suite's words


class Broker(NamedTuple):
    """What a suite is run against."""

    peer: str
    bootstrap: str = ""  # empty: the suite starts its servers
    zookeeper: str = ""
    count: int = 1  # of a cluster
    apart: tuple[str, ...] = ()  # addresses of the other clusters, where a suite wants several
    settings: Mapping[str, str] = MappingProxyType({})  # of each broker

    @property
    def replication_factor(self) -> int:
        """Of topics that a suite makes."""
        return min(self.count, 3)


class NotBrought(Exception):
    """A suite that could not be fetched or built; says which command failed and how."""


class Suite(ABC):
    """One suite of somebody else's."""

    name = ""
    deadline_s = 900.0
    settings: ClassVar[dict[str, str]] = {}  # of the broker, beside those that all suites have
    clusters = 1  # how many it wants, apart from each other; 0: it starts its servers itself
    peers: ClassVar[tuple[str, ...]] = ("headrace", "kafka")  # what it can be run against

    @property
    def folder(self) -> Path:
        return BUILD / self.name

    @abstractmethod
    def bring(self) -> None:
        """Fetch and build, once; raises NotBrought."""

    @abstractmethod
    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        """Run all of it; what it printed goes to `output`."""


def brought(command: Sequence[str], folder: Path, **environment: str) -> str:
    """Run a step of a build; returns its stdout. raises NotBrought"""
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, errors="replace"
        )
    except FileNotFoundError:
        raise NotBrought(f"{command[0]} is not on the PATH") from None
    if done.returncode:
        raise NotBrought(f"{' '.join(command)}: exit {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def kept(source: Path, target: Path) -> None:
    """A copy of a package that lies read-only in a registry's cache."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)


def watched(
    command: Sequence[str], folder: Path, output: Path, deadline_s: float, environment: Mapping[str, str] | None = None
) -> int | None:
    """Run a suite with all it starts in a session of its own, and end all of that at the deadline.

    returns   its exit code, None where the deadline ended it
    """
    with open(output, "ab") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = time.monotonic() + deadline_s
        try:
            while process.poll() is None:
                if time.monotonic() >= deadline:
                    return None
                time.sleep(0.1)
            return process.returncode
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def shortened(text: str) -> str:
    """One line of what a suite said."""
    return " ".join(text.split())[:SAID_CHARS_MAX]
