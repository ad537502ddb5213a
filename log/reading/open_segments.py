"""The segments that one process holds open for reading, over all its readers.

Runs in: network workers and partition workers, one object each; a reader by itself has one of its own.

A range that is under way keeps its segment open whatever this forgets (`reader.py`), so what counts is what lives:

    held, the least recently used first   ->  forgotten while `most` live
    live, but no longer held              ->  ranges under way; where these alone are `most`, nothing more is opened
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from pathlib import Path

from headrace.limits import DESCRIPTORS_PER_SEGMENT, OPEN_SEGMENTS_MAX, OPEN_SEGMENTS_MIN
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.reading.work_share import WorkShare

# What a reader has open, by base offset.
Opened = OrderedDict[int, SegmentFile]


class OpenSegments:
    """At most so many segments, the least recently used closed first.

    walks   as of `SegmentFile`
    """

    def __init__(self, most: int, walks: WorkShare | None = None) -> None:
        self.most = most
        self._walks = walks
        self._held: OrderedDict[SegmentFile, Opened] = OrderedDict()
        self._live = [0]

    @property
    def live(self) -> int:
        """Segments that are open, held here or by a range."""
        return self._live[0]

    def open(self, directory: Path, base: int) -> SegmentFile:
        """A segment for a reader, which holds it once it knows that it is right.

        raises   FileNotFoundError; OSError EMFILE, where ranges under way hold as many as may be open
        """
        while self.live >= self.most and self._held:
            segment, opened = self._held.popitem(last=False)
            del opened[segment.base_offset]
            del segment
        if self.live >= self.most:
            raise OSError(errno.EMFILE, f"{os.strerror(errno.EMFILE)}: {self.live} segments are being sent")
        return SegmentFile(directory, base, self._live, self._walks)

    def hold(self, segment: SegmentFile, opened: Opened) -> None:
        """Keep it in `opened` until others were used more lately, or `release`."""
        opened[segment.base_offset] = segment
        self._held[segment] = opened

    def use(self, segment: SegmentFile) -> None:
        """It was used just now."""
        self._held.move_to_end(segment)

    def release(self, segment: SegmentFile) -> None:
        """Its reader releases it."""
        del self._held.pop(segment)[segment.base_offset]


def segments_within(descriptors: int) -> int:
    """How many segments a process may hold open for reading that has so many descriptors to spare."""
    return max(OPEN_SEGMENTS_MIN, min(OPEN_SEGMENTS_MAX, descriptors // DESCRIPTORS_PER_SEGMENT))
