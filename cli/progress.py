"""A progress line on standard error: rewritten in place on a terminal, a new line every FILE_EVERY_S elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable

TERMINAL_EVERY_S = 0.2
FILE_EVERY_S = 10.0


class ProgressLine:
    """Takes the current text at any rate and shows it at most every TERMINAL_EVERY_S or FILE_EVERY_S."""

    def __init__(self, is_quiet: bool = False, now_s: Callable[[], float] = time.monotonic) -> None:
        self._is_quiet = is_quiet
        self._is_terminal = sys.stderr.isatty()
        self._now_s = now_s
        self._shown_s = now_s() if not self._is_terminal else -TERMINAL_EVERY_S
        self._is_open = False

    def show(self, text: str) -> None:
        now_s = self._now_s()
        every_s = TERMINAL_EVERY_S if self._is_terminal else FILE_EVERY_S
        if self._is_quiet or now_s - self._shown_s < every_s:
            return
        self._shown_s = now_s
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{text[:width]}")
            self._is_open = True
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line, so that other output begins at the margin."""
        if self._is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_open = False


def bytes_text(size: float) -> str:
    """In the largest unit that keeps it at 1 or more."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
