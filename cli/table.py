"""Plain columns on standard output: for people, and for `awk`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.cli.printable import printable


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """One line for each row; columns of numbers are right-aligned. An empty field shows as -."""
    texts = [[printable(str(value)) if value not in ("", None) else "-" for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    is_number = [
        bool(texts) and all(row[index].lstrip("-").isdigit() or row[index] == "-" for row in texts)
        for index in range(len(heads))
    ]
    for row in [list(heads), *texts]:
        fields = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, is_number, strict=True)
        ]
        print("  ".join(fields).rstrip())
