"""What `headrace import-07` prints: progress while it runs, skipped damage, a line for each partition and one for all."""

from __future__ import annotations

import time
from collections.abc import Iterable

from headrace.cli.printable import printable
from headrace.cli.progress import ProgressLine, bytes_text
from headrace.limits import DAMAGES_SHOWN_MAX
from headrace.log.kafka07.log_07 import Damage
from headrace.migration.consumers_07 import GroupOffset
from headrace.migration.import_07_run import ReadBack
from headrace.migration.import_07_state import PartitionProgress


class ImportReport:
    """Results on standard output, progress on standard error."""

    def __init__(self, is_quiet: bool) -> None:
        self._line = ProgressLine(is_quiet)
        self._started_s = time.monotonic()
        self._damages_shown = 0

    def carrying(self, partition: int, messages: int, bytes_done: int, bytes_all: int) -> None:
        share = 100 * bytes_done // bytes_all if bytes_all else 100
        rate = bytes_done / max(time.monotonic() - self._started_s, 0.001)
        self._line.show(
            f"import {share}%  partition {partition}  {bytes_text(bytes_done)} of {bytes_text(bytes_all)}"
            f"  {messages} messages  {bytes_text(rate)}/s"
        )

    def reading_back(self, partition: int, count: int, messages: int) -> None:
        self._line.show(f"read back  partition {partition}  {count} of {messages} messages")

    def damaged(self, damage: Damage) -> None:
        self._damages_shown += 1
        if self._damages_shown <= DAMAGES_SHOWN_MAX:
            self._print(printable(f"skipped, damaged: {damage} ({damage.lost_bytes} bytes)"))

    def partition(self, partition: int, row: PartitionProgress, found: ReadBack | None) -> bool:
        text = f"partition {partition}: {row.count} messages, {bytes_text(row.bytes)}, checksum {row.checksum:08x}"
        if row.damaged:
            text += f", {row.damaged} damaged ranges skipped ({row.lost_bytes} bytes)"
        if found is None:
            self._print(text)
            return True
        text += f", offsets {row.first_offset} to {row.target_end - 1}"
        if not found.is_complete:
            self._print(f"{text}, not read back: the topic now begins at offset {found.start_offset}")
            return True
        is_equal = (found.count, found.checksum) == (row.count, row.checksum)
        result = "equal" if is_equal else f"DIFFERENT: {found.count} messages, checksum {found.checksum:08x}"
        self._print(f"{text}, read back: {result}")
        return is_equal

    def consumer(self, found: GroupOffset) -> None:
        text = f"group {found.group}: partition {found.partition}, byte {found.byte}"
        at = f" is offset {found.offset}" if found.offset >= 0 else ""
        self._print(
            printable(
                f"{text}{at}, not stored: {found.reason}"
                if found.reason
                else f"{text} is offset {found.offset}, stored"
            )
        )

    def total(self, topic: str, rows: Iterable[PartitionProgress]) -> None:
        rows = list(rows)
        count, size = sum(row.count for row in rows), sum(row.bytes for row in rows)
        damaged = sum(row.damaged for row in rows)
        skipped = f", {damaged} damaged ranges skipped" if damaged else ""
        self._print(f"{topic}: {count} messages, {bytes_text(size)} in {len(rows)} partitions{skipped}")

    def close(self) -> None:
        """Remove the progress line, so that what follows begins at the margin."""
        self._line.clear()

    def _print(self, text: str) -> None:
        self._line.clear()
        print(text)
