"""The file that says what of a log is not synced, whatever its recovery point says.

    headrace.truncation   `0`, `1`, then `T E`; or `0`, `2`, then `T E` and `C S H`: the format of Kafka's checkpoints, which Kafka
                          doesn't read

After offset T nothing counts as synced, up to the old end E. The recovery point in the checkpoint may be above T for a while
(the housekeeper writes it now and then). Should the log grow over T again, and the machine crash, that checkpoint would
vouch for batches that it never saw. So the file stays until everything below E has been synced again, and opening takes
the smaller of the two.

The same where no truncation made the log shorter than its checkpoint (E): the directory was removed by hand, a replica was
moved away and is back, segments were put aside. `doubt_recovery_point` writes it when such a log is opened. A file that can't
be read doubts everything, a clean stop too, and so does one beside segments that were put aside (`doubt_all`): somebody may
rename them back. Opening narrows that to what there is to be doubted.

Where committed records are cut (an unclean election), two more checkpoints are too high for a while: that of the high watermark, and
that of the log start if the log begins earlier now. So the second line says where the log was cut (C), and where it began (S) and ended
(H) before. A high watermark above C up to H, and a log start above C up to S, may be of before. They count as C: too low a mark costs
nothing, too high a start would cost records.

Runs in: the partition worker that owns the log, which alone writes it.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final, NamedTuple

from headrace.log.disk import Disk
from headrace.log.state.checkpoints import OFFSET_MAX, BadCheckpoint, read_lines, write_lines

TRUNCATION_FILE: Final = "headrace.truncation"

_log: Final = logging.getLogger(__name__)


class TakenBack(NamedTuple):
    """Committed records were cut.

    offset                         the log ended there afterwards
    log_start_offset, end_offset   of the log before
    """

    offset: int
    log_start_offset: int
    end_offset: int


class TruncationMark:
    """The truncation file of one log.

    distrusted_until   a flush up to here makes it needless; -1: there is none
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / TRUNCATION_FILE
        self._disk = disk
        self._target = -1
        self._taken_back: TakenBack | None = None
        self.distrusted_until = -1
        try:
            lines = read_lines(self._path)
            if lines:
                target, end = lines[0].split()
                self._target, self.distrusted_until = int(target), int(end)
            if len(lines) > 1:
                offset, start, end = lines[1].split()
                self._taken_back = TakenBack(int(offset), int(start), int(end))
        except (BadCheckpoint, ValueError) as failure:
            _log.warning("truncation file can't be read: nothing counts as synced reason=%s", failure)
            self._target, self.distrusted_until = 0, OFFSET_MAX

    @property
    def doubts_all(self) -> bool:
        """Whether nothing that is known of the log from before counts."""
        return self.distrusted_until == OFFSET_MAX

    def doubt_recovery_point(self, recovery_point: int, end_offset: int) -> None:
        """The log was opened, and ends here: a checkpoint above it is not of what will be written. raises OSError"""
        if self.doubts_all:
            self.distrusted_until = max(recovery_point, end_offset)
            self.write(0, self.distrusted_until)
        elif recovery_point > end_offset and (self._target > end_offset or self.distrusted_until < recovery_point):
            self.write(end_offset, recovery_point)

    def bound(self, recovery_point: int) -> int:
        """What of a recovery point can be believed."""
        return recovery_point if self.distrusted_until < 0 else min(recovery_point, self._target)

    def bound_start(self, log_start_offset: int) -> int:
        """What of a log start offset can be believed."""
        back = self._taken_back
        is_doubted = back is not None and back.offset < log_start_offset <= back.log_start_offset
        return back.offset if back is not None and is_doubted else log_start_offset

    def bound_high_watermark(self, high_watermark: int) -> int:
        """What of a high watermark can be believed."""
        back = self._taken_back
        is_doubted = back is not None and back.offset < high_watermark <= back.end_offset
        return back.offset if back is not None and is_doubted else high_watermark

    def write(self, target: int, end_offset: int, taken_back: TakenBack | None = None) -> None:
        """Before a truncation; raises OSError.

        taken_back   where committed records go
        """
        before = self._taken_back
        if self.distrusted_until >= 0:
            target, end_offset = min(target, self._target), max(end_offset, self.distrusted_until)
        if taken_back is None:
            taken_back = before
        elif before is not None:
            taken_back = TakenBack(
                min(before.offset, taken_back.offset),
                max(before.log_start_offset, taken_back.log_start_offset),
                max(before.end_offset, taken_back.end_offset),
            )
        lines = [f"{target} {end_offset}"]
        if taken_back is not None:
            lines.append(" ".join(map(str, taken_back)))
        write_lines(self._path, lines, self._disk)
        self._target, self.distrusted_until, self._taken_back = target, end_offset, taken_back

    def remove(self) -> None:
        """Everything that it doubted is synced; raises OSError."""
        if self.distrusted_until >= 0:
            self._disk.remove_file(self._path)
            self._disk.sync_directory(self._path.parent)
            self._target = self.distrusted_until = -1
            self._taken_back = None

    def take_over(self, other: TruncationMark, end_offset: int) -> None:
        """A copy that ends at an offset takes a log's place: its checkpoints are of before, too. raises OSError"""
        if other._taken_back is not None:
            self.write(end_offset, max(end_offset, other.distrusted_until), other._taken_back)


def doubt_all(directory: Path, disk: Disk) -> None:
    """Nothing in a directory counts as synced, should it be a log again. raises OSError"""
    write_lines(directory / TRUNCATION_FILE, [f"0 {OFFSET_MAX}"], disk)
