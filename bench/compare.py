"""Two results of `make bench`, row by row: what became better, what worse, and whether by more than the rounds differ.

    python -m bench.compare bench/results/2026-11-21.json bench/results/2026-11-23-cluster.json
    make bench-compare OLD=bench/results/2026-11-21.json NEW=bench/results/2026-11-23-cluster.json

Rows that have a peer are compared by their ratios, which the machine's day touches least, others by the figure itself. A row is
`better` or `worse` where the intervals of the rounds do not overlap, and `same` where they do. Results without rounds (those
until 2026-11-23) are points: any difference counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

Interval = tuple[float, float, float]  # the least, the median, the largest
MORE_IS_BETTER = ("/s",)  # units of rates; the others are times, sizes and shares


def interval_of(row: dict[str, Any]) -> Interval:
    """Of a row's ratio, or of its figure where it has no peer."""
    if row["ratio"] is not None:
        least, largest = row.get("between") or (row["ratio"], row["ratio"])
        return least, row["ratio"], largest
    rounds = (row.get("rounds") or [[]])[0] or [row["headrace"]]
    return min(rounds), row["headrace"], max(rounds)


def verdict(unit: str, old: Interval, new: Interval) -> str:
    """`better`, `worse` or `same`."""
    if old[0] <= new[2] and new[0] <= old[2]:
        return "same"
    return "better" if (new[1] > old[1]) == unit.endswith(MORE_IS_BETTER) else "worse"


def compare(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """A table; rows that one of them lacks are named at its end."""
    before = {row["what"]: row for row in old}
    lines = ["| what | of | old | new | new / old | |", "|---|---|---|---|---|---|"]
    for row in new:
        was = before.pop(row["what"], None)
        if was is None or (was["ratio"] is None) != (row["ratio"] is None):
            lines.append(f"| {row['what']} | | | {_said(interval_of(row))} | | new |")
            continue
        first, second = interval_of(was), interval_of(row)
        of = "ratio" if row["ratio"] is not None else row["unit"]
        change = f"{second[1] / first[1]:.2f}" if first[1] else ""
        lines.append(
            f"| {row['what']} | {of} | {_said(first)} | {_said(second)} | {change} | {verdict(row['unit'], first, second)} |"
        )
    lines += [f"| {what} | | {_said(interval_of(row))} | | | gone |" for what, row in before.items()]
    return lines


def _said(interval: Interval) -> str:
    least, median, largest = interval
    return f"{median:,.3g}" if least == largest else f"{median:,.3g} ({least:,.3g} to {largest:,.3g})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    arguments = parser.parse_args()
    try:
        old, new = (json.loads(path.read_text())["rows"] for path in (arguments.old, arguments.new))
    except (OSError, ValueError, KeyError) as failure:
        print(
            f"no result of `make bench`: {failure}; it writes a .json beside each table in bench/results",
            file=sys.stderr,
        )
        return 2
    print("\n".join(compare(old, new)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
