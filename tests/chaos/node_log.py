"""What a node's log says of deaths: which were ours, and which processes ended by themselves. Pure but for `look`.

Used by: the campaign. A process that nobody killed and that died is a fault of the node, and one that does so again and again
(LOOP_DEATHS in a row) is a crash loop, which ends the round.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

LOOP_DEATHS = 4
_DIED = re.compile(r"process died role=(\S+) pid=(\d+) (.*?) lived_ms=")
_LOSS = re.compile(r"process died role=|process did not stop cleanly role=\S+ signal=9")
_SERVES = "headrace.node.supervisor: serving bootstrap="
_HANGS = re.compile(r"process hung, killed role=(\S+) pid=(\d+)")


class NodeLog:
    """A node's log as far as it was read.

    killed   pids that we killed: whoever does adds to it first
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.killed: set[int] = set()
        self.deaths: list[str] = []  # that nobody of us caused
        self.tracebacks: list[str] = []
        self.last_error = ""
        self.looping: str | None = None  # the role that does
        self.has_losses = False  # a process died since the node serves, ours or not
        self._in_a_row: Counter[str] = Counter()
        self._position = 0
        self._partial = ""
        self._trace: list[str] | None = None

    def look(self) -> None:
        """Read on."""
        if not self.path.exists():
            return
        with open(self.path, errors="replace") as file:
            file.seek(self._position)
            text = self._partial + file.read()
            self._position = file.tell()
        *lines, self._partial = text.split("\n")
        for line in lines:
            self.take(line)

    def take(self, line: str) -> None:
        self._follow_traceback(line)
        if " ERROR " in line or line.startswith("error"):
            self.last_error = line.strip()[-300:]
        if hang := _HANGS.search(line):
            self.deaths.append(line.strip())
            self.killed.add(int(hang[2]))  # its death is told once
            return
        self.has_losses = (self.has_losses or _LOSS.search(line) is not None) and _SERVES not in line
        died = _DIED.search(line)
        if died is None:
            return
        role, pid = died[1], int(died[2])
        if pid in self.killed:
            self._in_a_row[role] = 0
            return
        self.deaths.append(line.strip())
        self._in_a_row[role] += 1
        if self._in_a_row[role] >= LOOP_DEATHS:
            self.looping = role

    def _follow_traceback(self, line: str) -> None:
        """A traceback is told by its last line, which is the first that is not indented."""
        if line.startswith("Traceback (most recent call last)"):
            self._trace = []
        elif self._trace is not None:
            if line.startswith((" ", "\t")):
                self._trace.append(line.strip())
            elif line.strip():
                where = next((one for one in reversed(self._trace) if one.startswith("File ")), "")
                self.tracebacks.append(f"{line.strip()} at {where}")
                self._trace = None
