"""What was acknowledged, by partition and offset, and what a loss of power or a deletion took from it: the rest has to be there. Pure.

Used by: the campaign of moves, which knows what it takes from a disk, and so what a node without other replicas may have lost.

    lost-write            nothing is at an acknowledged record's offset
    inconsistent-offsets  something else is
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from headrace.ids import TopicPartition
from tests.chaos.judge import Anomaly

TOLD_MAX = 3


class Ledger:
    """Of one node."""

    def __init__(self) -> None:
        self._values: dict[TopicPartition, dict[int, str]] = defaultdict(dict)

    def acknowledge(self, place: TopicPartition, base_offset: int, values: list[str]) -> None:
        self._values[place].update(enumerate(values, base_offset))

    def cut(self, place: TopicPartition, end_offset: int) -> int:
        """The disk has lost what is at or above an offset; how many records that may cost."""
        return self._keep(place, lambda offset: offset < end_offset)

    def trim(self, place: TopicPartition, start_offset: int) -> int:
        """A client has deleted what is below an offset."""
        return self._keep(place, lambda offset: offset >= start_offset)

    def _keep(self, place: TopicPartition, is_kept: Callable[[int], bool]) -> int:
        before = self._values[place]
        self._values[place] = {offset: value for offset, value in before.items() if is_kept(offset)}
        return len(before) - len(self._values[place])

    def end(self, place: TopicPartition) -> int:
        """Behind the last one."""
        return max(self._values[place], default=-1) + 1

    @property
    def places(self) -> list[TopicPartition]:
        return sorted(self._values)

    def __len__(self) -> int:
        return sum(len(one) for one in self._values.values())

    def judge(self, place: TopicPartition, found: Mapping[int, str]) -> list[Anomaly]:
        """Against what a fresh client has read of a partition."""
        wanted = self._values[place]
        gone = sorted(offset for offset in wanted if offset not in found)
        other = sorted(offset for offset, value in wanted.items() if found.get(offset, value) != value)
        anomalies = []
        if gone:
            text = f"{place}: {len(gone)} acknowledged records are gone, the first at {gone[0]}, the last at {gone[-1]}"
            anomalies.append(Anomaly("lost-write", text))
        if other:
            some = ", ".join(f"{wanted[one][:40]} at {one} is {found[one][:40]}" for one in other[:TOLD_MAX])
            anomalies.append(Anomaly("inconsistent-offsets", f"{place}: {len(other)} are others: {some}"))
        return anomalies
