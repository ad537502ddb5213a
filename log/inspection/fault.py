"""What is wrong with a file: where, what, and what to do about it.

A fault makes `headrace verify` end with 1. A note is worth knowing, and nothing is lost by it: a torn tail that the next start
cuts, an index that is rebuilt.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from headrace.limits import FAULTS_MAX


class Fault(NamedTuple):
    """One finding.

    position   byte in the file, -1 where it is about the whole of it
    advice     what to do
    is_note    nothing is lost
    """

    path: str
    position: int
    what: str
    advice: str = ""
    is_note: bool = False


class Findings:
    """Faults of one file, FAULTS_MAX of them; what comes after is counted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[Fault] = []
        self.left_out = 0
        self._is_fault_left_out = False

    def fault(self, position: int, what: str, advice: str = "") -> None:
        self._add(Fault(str(self.path), position, what, advice))

    def note(self, position: int, what: str, advice: str = "") -> None:
        self._add(Fault(str(self.path), position, what, advice, True))

    def all(self) -> list[Fault]:
        """The faults, and a last one that tells how many were left out."""
        if not self.left_out:
            return list(self.faults)
        what = f"{self.left_out} further findings left out"
        rest = Fault(str(self.path), -1, what, is_note=not self._is_fault_left_out)
        return [*self.faults, rest]

    def _add(self, fault: Fault) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)
        else:
            self.left_out += 1
            self._is_fault_left_out |= not fault.is_note
