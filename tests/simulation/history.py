"""What clients of a simulation were told, and what it shows: nothing acknowledged is lost, no offset has two values, order is kept.

sent       a batch, before it goes out; its end is OK, FAILED or UNKNOWN
read       a record that a consumer was given
final      what a fresh client reads at the end: judged by `judge`
"""

from collections import defaultdict


class History:
    def __init__(self, kernel):
        self._kernel = kernel
        self.acknowledged = {}  # value -> (partition, offset)
        self.failed = set()
        self.unknown = set()
        self.values = defaultdict(dict)  # partition -> {offset: value}, as read or acknowledged
        self.last = {}  # (client, partition) -> the last acknowledged offset
        self.idempotent = set()  # values
        self.counts = defaultdict(int)

    def acknowledge(self, client, partition, values, base_offset):
        """base_offset   -1: a duplicate that was known, and not where"""
        self.counts["acknowledged"] += len(values)
        if base_offset < 0:
            self.counts["known again"] += 1
            for value in values:
                self.acknowledged[value] = (partition, None)
            return
        before = self.last.get((client, partition), -1)
        if base_offset <= before:
            self._kernel.anomaly(f"nonmonotonic-send {client} {partition}: {base_offset} after {before}")
        self.last[client, partition] = base_offset + len(values) - 1
        self._kernel.cluster.judges.acknowledged("log", partition, base_offset + len(values) - 1)
        for index, value in enumerate(values):
            self.acknowledged[value] = (partition, base_offset + index)
            self._note(partition, base_offset + index, value, "acknowledged")

    def read(self, client, partition, records):
        self.counts["read"] += len(records)
        for offset, value in records:
            self._note(partition, offset, value, f"read by {client}")

    def _note(self, partition, offset, value, how):
        known = self.values[partition].setdefault(offset, value)
        if known != value:
            self._kernel.anomaly(f"inconsistent-offsets {partition}@{offset}: {known}, and {value} {how}")

    def judge(self, final):
        """final   partition -> {offset: value}"""
        places = defaultdict(list)
        for partition, found in final.items():
            for offset, value in found.items():
                places[value].append((partition, offset))
        for partition, known in self.values.items():
            for offset, value in known.items():
                there = final.get(partition, {}).get(offset)
                if there != value:
                    self._kernel.anomaly(f"lost-write {partition}@{offset}: {value}, and at the end {there}")
        for value, (partition, offset) in self.acknowledged.items():
            found = places.get(value, [])
            if not found:
                self._kernel.anomaly(f"lost-write {partition}@{offset}: {value}")
        for value, found in places.items():
            if len(found) > 1:
                self._kernel.anomaly(f"duplicate {value} at {found}")
            if value in self.failed:
                self._kernel.anomaly(f"G1a {value}, whose send failed, is at {found}")
            if value not in self.acknowledged and value not in self.unknown and value not in self.failed:
                self._kernel.anomaly(f"changed {value!r} at {found}: nobody sent it")
