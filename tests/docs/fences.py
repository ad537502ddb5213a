"""Every fenced command of a README, word for word, in a fresh clone: `make readme`, and in a booted systemd `make systemd`.

    python tests/docs/fences.py                  README.md
    python tests/docs/fences.py docs/other.md    another page of the clone

The first word after a fence's backticks is its language, the second what is to be done with it:

    sh           bash runs it to its end, in the clone; any command that fails ends the walk
    sh server    bash runs it until the walk has ended; the next fence waits for its line that begins with `ready `
    python       a script, run by the clone's virtual environment
    text         nothing to run: a drawing, what a command prints

A fence without one of these is an error: nobody should have to guess whether it runs.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
FENCE_DEADLINE_S = 1800  # the first one sets up a virtual environment
READY_DEADLINE_S = 120
STOP_DEADLINE_S = 60
RUNS = {("sh",), ("sh", "server"), ("python",), ("text",)}
_FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)


class Fence(NamedTuple):
    """One fenced block of a page."""

    line: int
    words: tuple[str, ...]
    text: str


class BadFence(Exception):
    """A fence that can't be run, or failed; says where and how."""


def fences(page: str) -> list[Fence]:
    """The fenced blocks of a page, in order. raises BadFence, where one says not what it is"""
    found = []
    for match in _FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        words = tuple(match[1].split())
        if words not in RUNS:
            raise BadFence(f"line {line}: ```{match[1]} is none of {', '.join(' '.join(run) for run in sorted(RUNS))}")
        found.append(Fence(line, words, match[2]))
    return found


class Walk:
    """The fences of one page, run in a clone; servers live until the walk is closed.

    enter   a command that runs what follows it in the clone of another machine; by default the clone is a directory here
    """

    def __init__(self, clone: Path, enter: Sequence[str] = ()) -> None:
        self._clone = clone
        self._enter = enter
        self._servers: list[subprocess.Popen[str]] = []

    def run(self, fence: Fence) -> None:
        """raises BadFence"""
        if fence.words == ("sh",):
            self._finish(fence, ["bash", "-euo", "pipefail", "-c", fence.text])
        elif fence.words == ("sh", "server"):
            self._serve(fence)
        elif fence.words == ("python",):
            script = self._clone / "readme_job.py"
            script.write_text(fence.text)
            self._finish(fence, [".venv/bin/python", script.name])

    def close(self) -> None:
        """End the servers, with all that they started."""
        for server in self._servers:
            if server.poll() is not None:
                continue
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()

    def _finish(self, fence: Fence, command: list[str]) -> None:
        command = [*self._enter, *command]
        process = subprocess.Popen(command, cwd=self._clone, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = process.wait(FENCE_DEADLINE_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if code:
            raise BadFence(f"line {fence.line}: exit {code}\n{fence.text}")

    def _serve(self, fence: Fence) -> None:
        server = subprocess.Popen(
            [*self._enter, "bash", "-euo", "pipefail", "-c", fence.text],
            cwd=self._clone,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._servers.append(server)
        news: queue.SimpleQueue[bool] = queue.SimpleQueue()
        threading.Thread(target=_pass_on, args=(server, news), daemon=True).start()
        try:
            is_ready = news.get(timeout=READY_DEADLINE_S)
        except queue.Empty:
            is_ready = False
        if not is_ready:
            raise BadFence(f"line {fence.line}: no line that begins with `ready `\n{fence.text}")


def _pass_on(server: subprocess.Popen[str], news: queue.SimpleQueue[bool]) -> None:
    """Show what a server prints, and tell whether its ready line came (True) or its output ended (False)."""
    assert server.stdout is not None
    for line in server.stdout:
        print(line, end="", flush=True)
        if line.startswith("ready "):
            news.put(True)
    news.put(False)


def main() -> int:
    pages = sys.argv[1:] or ["README.md"]
    with tempfile.TemporaryDirectory(prefix="headrace-readme-") as directory:
        clone = Path(directory) / "headrace"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        walk = Walk(clone)
        try:
            for page in pages:
                for fence in fences((clone / page).read_text()):
                    print(f"--- {page}:{fence.line} {' '.join(fence.words)}\n{fence.text}", flush=True)
                    walk.run(fence)
        except BadFence as failure:
            print(f"failed {page}: {failure}", file=sys.stderr)
            return 1
        finally:
            walk.close()
    print(f"every fenced command of {', '.join(pages)} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
