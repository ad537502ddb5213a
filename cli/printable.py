"""Text for a terminal: whatever names hold, it is one line, and moves no cursor.

Group ids, member ids, client ids, hosts and error messages come from any client: escape sequences and line breaks in them are shown as
`\\x1b` and `\\n`. Everything that the commands print for people goes through here; JSON escapes by itself, and records
are printed as they are.
"""

from __future__ import annotations

import sys


def printable(text: str) -> str:
    """The text with every character escaped that is no letter, sign or space: control characters, and what turns the direction."""
    if text.isprintable():
        return text
    return "".join(
        [character if character.isprintable() else character.encode("unicode_escape").decode() for character in text]
    )


def print_line(text: str, *, is_error: bool = False) -> None:
    """One line on standard output, or on standard error."""
    print(printable(text), file=sys.stderr if is_error else sys.stdout)
