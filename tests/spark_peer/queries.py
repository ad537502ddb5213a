"""Queries over streams, run to their end or as long as a program wants; what their micro-batches held."""

import shutil
import uuid
from contextlib import contextmanager

from tests.spark_peer.outcomes import in_order, plain, records

PATIENCE_S = 600  # a query starts several processes, and the machine may do other things


class Checkpoint:
    """A directory for a query, which may end and start again."""

    def __init__(self, side):
        self.path = side.directory / f"checkpoint-{uuid.uuid4().hex[:8]}"

    def forget_commit(self, batch_id):
        """As after a crash in that micro-batch."""
        for name in (f"{batch_id}", f".{batch_id}.crc"):
            (self.path / "commits" / name).unlink(missing_ok=True)

    def offsets(self, batch_id):
        """The JSON of the source's end, as Spark wrote it."""
        return (self.path / "offsets" / str(batch_id)).read_text().splitlines()[-1]

    def copy(self, side):
        """The same for another side."""
        made = Checkpoint(side)
        shutil.copytree(self.path, made.path)
        return made


class Query:
    """A running query, and the micro-batches that it had: `seen` those with rows, in order."""

    def __init__(self, frame, checkpoint, take, trigger, output="append", timeout_s=PATIENCE_S):
        self.seen = []
        self.tasks = []
        self._take = take
        self._timeout_s = timeout_s
        self._told = 0
        writer = frame.writeStream.foreachBatch(self._each).outputMode(output)
        self.query = writer.option("checkpointLocation", str(checkpoint.path)).trigger(**trigger).start()

    def _each(self, rows, _batch_id):
        found = self._take(rows)
        if found:
            self.seen.append(found)
            self.tasks.append(rows.rdd.getNumPartitions())

    def settle(self):
        """What came since the last call, once everything that is there was looked at."""
        self.query.processAllAvailable()
        new = self.seen[self._told :]
        self._told = len(self.seen)
        return new


def rows_of(frame):
    """Rows of any columns, in an order."""
    return sorted((plain(tuple(row)) for row in frame.collect()), key=repr)


def ends_of(batch):
    """{(topic, partition): (first, last, how many)} of a micro-batch of records."""
    found = {}
    for topic, partition, offset, *_rest in batch:
        first, _last, count = found.get((topic, partition), (offset, 0, 0))
        found[topic, partition] = (first, offset, count + 1)
    return found


def backfill(side, frame, checkpoint=None, take=records, output="append"):
    """Trigger.AvailableNow to its end; returns the query. raises what ended it"""
    query = Query(frame, checkpoint or Checkpoint(side), take, {"availableNow": True}, output)
    try:
        assert query.query.awaitTermination(PATIENCE_S), "it does not end"
    finally:
        query.query.stop()
    return query


@contextmanager
def running(side, frame, checkpoint=None, take=records, output="append", **trigger):
    """A query for as long as the block."""
    query = Query(frame, checkpoint or Checkpoint(side), take, trigger or {"processingTime": "0 seconds"}, output)
    try:
        yield query
    finally:
        query.query.stop()


def merged(batches):
    """All records of some micro-batches."""
    return in_order(row for batch in batches for row in batch)
