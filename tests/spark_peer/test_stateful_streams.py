"""Streams with state: windows under a watermark, joins of two streams, deduplication, transformWithState; micro-batch by micro-batch."""

import pytest

from tests.spark_peer.outcomes import compare
from tests.spark_peer.queries import Checkpoint, backfill, rows_of, running
from tests.spark_peer.topics import T0, click

pytestmark = pytest.mark.interop

EARLY = {"subscribe": "clicks", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "150"}


def clicks(side, **options):
    frame = side.stream(**{**EARLY, **options})
    return frame.selectExpr(
        "CAST(key AS STRING) AS user", "get_json_object(CAST(value AS STRING), '$.page') AS page", "timestamp"
    )


@pytest.mark.parametrize("output", ["append", "update", "complete"])
def test_windows_under_a_watermark(pair, output):
    def program(side):
        from pyspark.sql import functions as F

        frame = clicks(side).withWatermark("timestamp", "20 seconds")
        counted = frame.groupBy(F.window("timestamp", "1 minute", "30 seconds"), "page").count()
        counted = counted.selectExpr("window.start AS begins", "page", "count")
        return backfill(side, counted, take=rows_of, output=output).seen

    assert sum(map(len, compare(program, pair))) > 30


def test_sessions_and_deduplication(pair):
    def sessions(side):
        from pyspark.sql import functions as F

        frame = clicks(side).withWatermark("timestamp", "10 seconds")
        counted = frame.groupBy(F.session_window("timestamp", "8 seconds"), "user").count()
        return backfill(side, counted.selectExpr("session_window.start AS begins", "user", "count"), take=rows_of).seen

    def once(side):
        # of several rows in a micro-batch the first one to come stays: of one partition that is the same each time
        frame = clicks(side, subscribe=None, assign={"clicks": [0]}).withWatermark("timestamp", "10 seconds")
        frame = frame.dropDuplicatesWithinWatermark(["user"])
        return backfill(side, frame.select("user", "timestamp"), take=rows_of).seen

    assert compare(sessions, pair)
    assert compare(once, pair)


@pytest.mark.parametrize("how", ["inner", "leftOuter"])
def test_two_streams_joined(pair, how):
    def program(side):
        left = clicks(side).withWatermark("timestamp", "10 seconds").selectExpr("user", "page", "timestamp AS seen")
        right = side.stream(subscribe="a.clicks", startingOffsets="earliest", maxOffsetsPerTrigger="20")
        right = right.selectExpr("CAST(key AS STRING) AS who", "partition", "offset", "timestamp AS bought")
        right = right.withWatermark("bought", "10 seconds")
        from pyspark.sql import functions as F

        within = F.expr("who = user AND bought BETWEEN seen AND seen + INTERVAL 9 SECONDS")
        return backfill(side, left.join(right, within, how), take=rows_of).seen

    assert compare(program, pair)


def test_state_of_ones_own(pair, topic):
    """transformWithState over a query that ends and starts again."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor
    from pyspark.sql.types import LongType, StructField, StructType

    class Counts(StatefulProcessor):
        """How many records a key has had, in all micro-batches."""

        def init(self, handle):
            self.count = handle.getValueState("count", StructType([StructField("count", LongType())]))

        def handleInputRows(self, key, rows, timerValues):
            found = (self.count.get()[0] if self.count.exists() else 0) + sum(1 for _row in rows)
            self.count.update((found,))
            yield Row(user=key[0], count=found)

        def close(self):
            pass

    pair.create(topic, 2)
    checkpoints = {name: Checkpoint(side) for name, side in pair.sides.items()}

    def program(side):
        frame = clicks(side, subscribe=topic, maxOffsetsPerTrigger="40")
        counted = frame.groupBy("user").transformWithState(Counts(), "user string, count long", "Update", "None")
        return backfill(side, counted, checkpoints[side.format], take=rows_of, output="update").seen

    for begin, end in ((0, 40), (40, 47)):
        for partition in range(2):
            pair.write(topic, partition, [click(partition, number) for number in range(begin, end)])
        assert compare(program, pair)


def test_a_watermark_moves_on_while_a_query_runs(pair, topic):
    pair.create(topic, 1)
    found = {}
    for name, side in pair.sides.items():
        from pyspark.sql import functions as F

        from tests.spark_peer.sides import write

        frame = side.stream(subscribe=topic, startingOffsets="earliest").withWatermark("timestamp", "5 seconds")
        counted = frame.groupBy(F.window("timestamp", "10 seconds")).count().selectExpr("window.start AS at", "count")
        with running(side, counted, take=rows_of) as query:
            told = []
            for second in (0, 8, 12, 3, 30, 31):  # 3 comes late, and within the watermark
                write(side.bootstrap, topic, 0, [(b"k", b"v", T0 + 1000 * second)])
                told.append(query.settle())
        found[name] = told
    assert found["headrace"] == found["kafka"]
    assert sum(map(len, found["kafka"])) >= 1
