"""Loads for tests: in this process, or in a child that dies at a step."""

import os

import pyarrow.compute as pc

from headrace.ids import TopicPartition
from headrace.load.contents import contents_of
from headrace.load.data_files import Attempt
from headrace.load.history import dataset
from headrace.load.loader import Loader
from headrace.load.options import LoadOptions
from headrace.load.parquet_target import ParquetTarget
from headrace.load.task import run_task
from headrace.protocol.record_batch import Record

T0 = 1_700_000_000_000
HOUR_MS = 3_600_000
DIED = 77


class InlineTasks:
    """As a pool of workers, in this process."""

    def __init__(self, job, run):
        self._job = job
        self._run_id = run.id
        self._number = 0
        self.dead_attempts = []

    def run(self, ranges, _is_stopped):
        for one in ranges:
            self._number += 1
            yield run_task(self._job, one, Attempt(self._run_id, self._number))

    def abandon(self):
        pass

    def close(self):
        pass


def fill(log, topic="clicks", partition=0, count=10, step_ms=1000, value=b"%d"):
    """Records whose values are their offsets."""
    name = TopicPartition(topic, partition)
    first = log.ends.get(name, 0)
    records = [Record(i, T0 + (first + i) * step_ms, b"k", value % (first + i)) for i in range(count)]
    log.append(name, records)
    return name


def load_inline(broker, target, topics="clicks", **given):
    """`load`, with tasks in this process."""
    if not hasattr(target, "commit"):
        target = ParquetTarget(target)
    decode, mode = given.pop("decode", None), given.pop("decode_mode", "fail")
    contents = contents_of(given.pop("columns", None), decode, mode, bad_times=given.pop("bad_times", "dead"))
    options = LoadOptions(broker.address, topics, contents, **given)
    return Loader(options, target, executor=InlineTasks).run()


def load_until(broker, make_target, step, **given):
    """Load in a child that dies, without a last word, at the first step of that name; returns whether it came to it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            load_inline(broker, make_target(lambda name: os._exit(DIED) if name == step else None), **given)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == DIED


def offsets_in(target):
    """(topic, partition) -> the offsets of the committed rows, sorted."""
    table = dataset(target).to_table(columns=["topic", "partition", "offset"])
    found = {}
    for topic, partition in sorted(set(zip(*(table.column(i).to_pylist() for i in range(2)), strict=True))):
        mask = pc.and_(pc.equal(table["topic"], topic), pc.equal(table["partition"], partition))
        found[topic, partition] = sorted(table.filter(mask)["offset"].to_pylist())
    return found
