"""What a campaign against a sink saw, and what the rows in its topic say of it: pure.

    lost      a number that was acknowledged to the producer and is not in the topic
    double    one that is there twice
    order     one that first came after a later one of the same task's rows, in the same partition
    differ    attempts that found other rows than their own: the query is to blame, or the sink

Without the option a campaign has to find doubles: what leaves none without it shows nothing with it. A double is put down to the last
kill between its two rows; where none is between, two attempts wrote at once.

Used by: `sink_campaign.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

MID_WRITE_SHARE_MIN = 0.5  # of the kills


class Strike(NamedTuple):
    """One kill.

    ends          of the topic's partitions, right after it; of a node: before it
    is_mid_write  a micro-batch had written some rows by then, and was not committed
    """

    kind: str
    ends: dict[int, int]
    is_mid_write: bool


class Row(NamedTuple):
    """A row of the topic. source: the partition that its number was read from, and so the task that wrote it."""

    partition: int
    offset: int
    number: int
    source: int


@dataclass
class SinkVerdict:
    """What a campaign saw.

    without   the option is off
    ended     queries that nobody killed
    woken     zombies that were there when they were woken
    doubled   kills that a double is put down to, by kind
    at_once   rows of two attempts at once
    """

    seed: int
    without: bool = False
    strikes: list[Strike] = field(default_factory=list)
    acknowledged: int = 0
    rows: int = 0
    queries: int = 0
    ended: int = 0
    woken: int = 0
    lost: list[int] = field(default_factory=list)
    double: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)
    doubled: Counter[str] = field(default_factory=Counter)
    at_once: int = 0

    @property
    def kills(self) -> Counter[str]:
        """By kind."""
        return Counter(strike.kind for strike in self.strikes)

    @property
    def mid_write(self) -> Counter[str]:
        """Those of them in mid-write."""
        return Counter(strike.kind for strike in self.strikes if strike.is_mid_write)

    def judge(self, acknowledged: set[int], rows: Iterable[Row], log: str) -> None:
        """rows   of each partition in the order of their offsets; log: of the queries"""
        seen: Counter[int] = Counter()
        first: dict[int, Row] = {}
        newest: dict[tuple[int, int], int] = {}
        blamed: set[int] = set()
        for row in rows:
            seen[row.number] += 1
            there = first.setdefault(row.number, row)
            if there is not row:
                kills = self._between(there, row)
                blamed |= kills
                self.at_once += not kills
                continue
            if row.number < newest.get((row.partition, row.source), -1):
                self.order.append(row.number)
            newest[row.partition, row.source] = row.number
        self.acknowledged, self.rows = len(acknowledged), seen.total()
        self.lost = sorted(acknowledged - seen.keys())
        self.double = sorted(number for number, count in seen.items() if count > 1)
        self.differ = [line for line in log.splitlines() if "RowsDiffer: " in line]
        self.doubled = Counter(self.strikes[index].kind for index in blamed)

    def _between(self, one: Row, again: Row) -> set[int]:
        """The last kill between two rows; none where they are in different partitions, or no kill was between."""
        ends = [strike.ends.get(one.partition, 0) for strike in self.strikes]  # they only grow
        last = bisect_right(ends, again.offset) - 1
        return {last} if one.partition == again.partition and last >= 0 and ends[last] > one.offset else set()

    def faults(self, kills_wanted: int) -> list[str]:
        """Why this run failed; empty where it passed."""
        kills, hit = self.kills.total(), self.mid_write.total()
        checks = [
            (kills < kills_wanted, f"only {kills} kills fired"),
            (hit < kills * MID_WRITE_SHARE_MIN, f"only {hit} of {kills} kills came in mid-write"),
            (self.kills["zombie"] > 0 and not self.woken, "no zombie woke up"),
            (self.acknowledged == 0, "nothing was acknowledged"),
            (bool(self.lost), f"lost: {self.lost[:5]} ({len(self.lost)} in all)"),
            (bool(self.order), f"order: {self.order[:5]} ({len(self.order)} in all)"),
            (bool(self.differ), f"rows differ: {self.differ[:2]}"),
            (bool(self.double) and not self.without, f"double: {self.double[:5]} ({len(self.double)} in all)"),
            (self.without and not self.double, "no row is double without the option: these kills show nothing"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        doubled, hit = self.doubled, self.mid_write
        lines = [
            f"seed={self.seed} exactly_once={'off' if self.without else 'on'} kills={self.kills.total()} "
            f"mid_write={hit.total()} doubling={doubled.total()} queries={self.queries} ended_by_themselves={self.ended} "
            f"woken={self.woken}"
        ]
        for kind, count in sorted(self.kills.items()):
            lines.append(f"  {kind:<8} {count:>4}   in mid-write {hit[kind]:>4}   left doubles {doubled[kind]:>4}")
        lines.append(
            f"acknowledged={self.acknowledged} rows={self.rows} lost={len(self.lost)} double={len(self.double)} "
            f"at_once={self.at_once} order={len(self.order)} differ={len(self.differ)}"
        )
        return "\n".join(lines)
