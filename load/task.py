"""One range read and written: what a task does, wherever it runs.

Runs in: a task worker of ours (`task_worker.py`), or one of Spark's (`spark_tasks.py`). A task commits nothing: it returns what it wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.arrow.offset_range import OffsetRange
from headrace.load.commits import DataFile, LoadedRange
from headrace.load.contents import Contents
from headrace.load.data_files import Attempt
from headrace.load.hour_files import HourFiles


@dataclass(frozen=True)
class Job:
    """What all tasks of a load have in common."""

    root: str
    contents: Contents
    compression: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A range and the files that have its records."""

    loaded: LoadedRange
    files: tuple[DataFile, ...]


def run_task(job: Job, one: OffsetRange, attempt: Attempt) -> TaskResult:
    """Write a range.

    raises   what `Contents.batches` raises, OSError; nothing of the attempt stays then
    """
    files = HourFiles(Path(job.root), one, one.topic_id, attempt, job.compression)
    rows = bad = 0
    try:
        for good, dead in job.contents.batches(one):
            files.add(good)
            rows += good.num_rows
            if dead is not None:
                files.add(dead, is_bad=True)
                bad += dead.num_rows
        done = files.finish()
    except BaseException:  # GeneratorExit and SIGINT too
        files.discard()
        raise
    loaded = LoadedRange(one.topic, one.topic_id, one.partition, one.start, one.end, rows + bad, bad)
    return TaskResult(loaded, tuple(done))
