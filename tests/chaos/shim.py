"""What a node's processes are shown of the machine (`shim.c`, by LD_PRELOAD): another date, a slow disk; and a journal of names.

Used by: faults of clocks, of slow disks, of power. Needs gcc. A name that nobody synced is not on disk: a crash of the machine may
bring back the old one. The journal tells of renames and of synced directories, so `undo_names` can.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
ROWS, WORD_BYTES, TABLE_BYTES = 32, 200, 4096
EVERY = -1  # process
_ROW = struct.Struct("qq")
_DELAYS = struct.Struct("qq")
_DELAYS_AT = ROWS * _ROW.size
_WORDS_AT = _DELAYS_AT + _DELAYS.size

assert _WORDS_AT + 2 * WORD_BYTES <= TABLE_BYTES


def why_no_shim() -> str:
    """Why there can be none; empty where there can."""
    return "" if shutil.which("gcc") else "there is no gcc"


class Shim:
    """One table, for the processes of one node.

    directory   for the table, the library and the journal
    root        below which names are written down
    raises      OSError, CalledProcessError, where it can't be built
    """

    def __init__(self, directory: Path, root: Path) -> None:
        self._library = directory / "shim.so"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", str(self._library), str(SOURCE), "-ldl"], check=True
        )
        self._table = directory / "shim.table"
        self._table.write_bytes(bytes(TABLE_BYTES))
        self.journal = directory / "shim.journal"
        self._root = root

    @property
    def environment(self) -> dict[str, str]:
        """Of a node."""
        own = {"LD_PRELOAD": str(self._library), "CHAOS_TABLE": str(self._table)}
        return {**os.environ, **own, "CHAOS_JOURNAL": str(self.journal), "CHAOS_ROOT": str(self._root)}

    def step_clocks(self, offsets_s: dict[int, int]) -> None:
        """The date of these processes is so many seconds off, by pid, or EVERY; that of all others is right."""
        assert len(offsets_s) < ROWS
        self._write(0, b"".join(_ROW.pack(*row) for row in offsets_s.items()).ljust(_DELAYS_AT, b"\0"))

    def slow_down(self, open_us: int = 0, open_word: str = "", write_us: int = 0, write_word: str = "") -> None:
        """Each open, each write of a file whose path has a word takes so much longer."""
        self._write(_DELAYS_AT, _DELAYS.pack(0, 0))
        words = b"".join(word.encode().ljust(WORD_BYTES, b"\0") for word in (open_word, write_word))
        self._write(_WORDS_AT, words)
        self._write(_DELAYS_AT, _DELAYS.pack(open_us, write_us))

    def _write(self, position: int, data: bytes) -> None:
        with open(self._table, "r+b") as file:
            file.seek(position)
            file.write(data)

    def forget_names(self) -> None:
        """Everything is on disk."""
        self.journal.unlink(missing_ok=True)

    def unsynced_names(self) -> list[tuple[Path, Path]]:
        """Directories that were renamed, old and new name, while nobody has synced the directory that had the old one."""
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        pending: list[tuple[Path, Path]] = []
        for line in lines:
            if line.startswith("S "):
                pending = [one for one in pending if one[0].parent != Path(line[2:])]
            else:
                old, _tab, new = line[2:].partition("\t")
                pending.append((Path(old), Path(new)))
        return [(old, new) for old, new in pending if new.is_dir() and not old.exists()]

    def undo_names(self, chance: random.Random) -> list[Path]:
        """Of a node that was killed: some of those directories have their old names again; returns these."""
        back = []
        for old, new in reversed(self.unsynced_names()):
            if chance.random() < 0.8:
                new.rename(old)
                back.append(old)
        self.forget_names()
        return back
