"""Tasks run by Spark's executors, where the ranges' files are: `mapInArrow` over located descriptors.

Runs in: the driver; what it sends, in Spark's Python workers. Spark retries a task that fails, or runs it twice: each attempt has a
number of its own, and only the results that the driver gets are committed. The target's root must have the same path on every
executor.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from headrace.arrow.offset_range import OffsetRange
from headrace.load.data_files import Attempt
from headrace.load.task import Job, TaskResult, run_task

SCHEMA = "result binary"


class SparkTasks:
    """As `TaskPool`, on Spark.

    dead_attempts   always empty: only age proves that a task elsewhere is dead
    """

    def __init__(self, spark: Any, job: Job, run_id: str) -> None:
        from headrace.spark.executor_python import prepare_workers

        prepare_workers(spark)
        self._spark = spark
        self._job = job
        self._run_id = run_id
        self.dead_attempts: list[Attempt] = []

    def run(self, ranges: Sequence[OffsetRange], _is_stopped: Callable[[], bool]) -> Iterator[TaskResult]:
        """All results, when the job is done. raises what Spark raises"""
        from headrace.spark.scan import located, ranges_in

        if not ranges:
            return
        job, run_id = self._job, self._run_id

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for one in ranges_in(batches):
                result = run_task(job, one, Attempt(run_id, uuid.uuid4().int >> 80))
                yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})

        for row in located(self._spark, list(ranges)).mapInArrow(write, SCHEMA).collect():
            yield pickle.loads(row.result)

    def abandon(self) -> None:
        """Nothing: a job that failed has ended its tasks, or they end by themselves."""

    def close(self) -> None:
        """Nothing: the session is the caller's."""
