"""Segments that no longer belong to their log, kept where they are neither read as its records nor removed.

    topic-partition.<32 hex digits>-stray     beside the partition's directory, with the segments' files in it

What is on disk may be all that is left of records; a text file that says otherwise, or a batch that the machine lost
before them, is no reason to unlink them. Apache Kafka names directories of replicas that aren't assigned like this.
Should somebody give the directory its old name again, no checkpoint counts for it: it has a truncation file that says so.

Runs in: the partition worker that owns the log, while it opens it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headrace.log.disk import Disk
from headrace.log.names import STRAY_SUFFIX, SUFFIXES, aside_name, aside_stem, path_of

_COPY: Final = re.compile(r"\.[0-9a-f]{32}-future$")


def put_aside(directory: Path, bases: list[int], disk: Disk, note: Callable[[Path, Disk], object]) -> Path:
    """Move the files of segments out of a log's directory, the last segment first: a crash in between leaves no gap.

    They are gone from the log for good, and safe, when this returns: a second crash must not bring them back.

    note      puts a file beside them that says so, before the first one is there
    returns   where they are
    raises    OSError
    """
    target = make_aside(directory, disk, note)
    for base in reversed(bases):
        for suffix in reversed(SUFFIXES):
            source = path_of(directory, base, suffix)
            try:
                disk.rename(source, path_of(target, base, suffix))
            except FileNotFoundError:
                continue
    disk.sync_directory(target)
    disk.sync_directory(directory)
    return target


def directories_aside(directory: Path) -> list[Path]:
    """Where what left this log before is, in no order that says anything. raises OSError"""
    beginning = aside_stem(_COPY.sub("", directory.name), STRAY_SUFFIX) + "."
    names = [
        name for name in os.listdir(directory.parent) if name.startswith(beginning) and name.endswith(STRAY_SUFFIX)
    ]
    return [directory.with_name(name) for name in sorted(names)]


def make_aside(directory: Path, disk: Disk, note: Callable[[Path, Disk], object]) -> Path:
    """Make the directory for what leaves a log. raises OSError

    note   puts a file into it that says so
    """
    target = directory.with_name(aside_name(_COPY.sub("", directory.name), STRAY_SUFFIX))
    disk.make_directory(target)
    disk.sync_directory(directory.parent)
    note(target, disk)
    return target
