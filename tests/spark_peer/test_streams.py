"""Streams: the same options give the same micro-batches, over restarts, new partitions, new topics and lost records."""

import json
from contextlib import ExitStack

import pytest

from tests.spark_peer.outcomes import Refusal, both_refuse, compare
from tests.spark_peer.queries import Checkpoint, backfill, ends_of, merged, running
from tests.spark_peer.sides import write
from tests.spark_peer.topics import CLICKS, T0, click

pytestmark = pytest.mark.interop

EARLY = {"subscribe": "clicks", "startingOffsets": "earliest"}

# options -> the records of each micro-batch of Trigger.AvailableNow
BACKFILLS = {
    "everything": EARLY,
    "headers": {**EARLY, "includeHeaders": "true"},
    "at most 100": {**EARLY, "maxOffsetsPerTrigger": "100"},
    "at most 3, of three partitions": {
        "assign": {"times": [0, 1]},
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "9",
    },
    "at least 100": {**EARLY, "minOffsetsPerTrigger": "100"},
    "at least 10000": {**EARLY, "minOffsetsPerTrigger": "10000", "maxTriggerDelay": "1h"},
    "a pattern": {"subscribePattern": "clicks$", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "300"},
    "assigned": {"assign": {"clicks": [1, 2]}, "startingOffsets": "earliest"},
    "offsets": {
        "subscribe": "clicks",
        "startingOffsets": {"clicks": {"0": 290, "1": -2, "2": -1, "3": -2}},
        "maxOffsetsPerTrigger": "50",
    },
    "from a time": {"assign": {"times": [0, 1]}, "startingTimestamp": T0 + 900},
    "from a time that a partition has not": {
        "subscribe": "times",
        "startingTimestamp": T0 + 3000,
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "times by partition": {
        "assign": {"times": [0, 1]},
        "startingOffsetsByTimestamp": {"times": {"0": T0 + 1000, "1": T0 + 500}},
    },
    "compacted": {"subscribe": "compacted", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "150"},
    "trimmed": {"subscribe": "trimmed", "startingOffsets": "earliest"},
    "an empty topic": {"subscribe": "empty", "startingOffsets": "earliest"},
    "latest": {"subscribe": "clicks"},
    "an end by a global time": {**EARLY, "endingTimestamp": T0},
    "a group": {**EARLY, "groupIdPrefix": "mine"},
    "committed": {**EARLY, "kafka.isolation.level": "read_committed"},
}

# options -> how many tasks each micro-batch has
TASKS = {
    "as they are": {**EARLY, "maxOffsetsPerTrigger": "200"},
    "at least 8": {**EARLY, "minPartitions": "8", "maxOffsetsPerTrigger": "200"},
    "at least 2": {**EARLY, "minPartitions": "2"},
    "at most 50 records": {**EARLY, "maxRecordsPerPartition": "50"},
    "at most 7 records": {**EARLY, "maxRecordsPerPartition": "7", "maxOffsetsPerTrigger": "200"},
    "at most 1000 records": {**EARLY, "maxRecordsPerPartition": "1000"},
    "both": {**EARLY, "maxRecordsPerPartition": "60", "minPartitions": "8", "maxOffsetsPerTrigger": "200"},
    "both, few": {**EARLY, "maxRecordsPerPartition": "50", "minPartitions": "2"},
}

REFUSED = {
    "an end": {**EARLY, "endingOffsets": "latest"},
    "an end by time": {**EARLY, "endingOffsetsByTimestamp": {"clicks": {"0": T0}}},
    "a partition forgotten": {"subscribe": "clicks", "startingOffsets": {"clicks": {"0": 1}}},
    "offsets, not JSON": {"subscribe": "clicks", "startingOffsets": "soon"},
    "two strategies": {**EARLY, "assign": {"clicks": [0]}},
    "at least more than at most": {**EARLY, "minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "2"},
    "a word at most": {**EARLY, "maxOffsetsPerTrigger": "few"},
    "a word at least": {**EARLY, "minOffsetsPerTrigger": "few"},
    "a delay that is none": {**EARLY, "maxTriggerDelay": "soon", "minOffsetsPerTrigger": "3"},
    "no record so late": {"subscribe": "times", "startingTimestamp": T0 + 9_000_000},
    "no such topic": {"subscribe": "nowhere", "startingOffsets": "earliest"},
    "a start beyond the log": {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 500, "1": 0}}},
    "a start before the log": {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 3, "1": 0}}},
    "a loss that may be": {**EARLY, "failOnDataLoss": "perhaps"},
    "offsets reset": {**EARLY, "kafka.auto.offset.reset": "earliest"},
    "no tasks": {**EARLY, "minPartitions": "0"},
    "no records": {**EARLY, "maxRecordsPerPartition": "0"},
    "records, a word": {**EARLY, "maxRecordsPerPartition": "few"},
    "a time that overflows": {"subscribe": "late", "startingOffsets": "earliest"},
}


@pytest.mark.parametrize("name", BACKFILLS)
def test_the_same_options_give_the_same_micro_batches(pair, name):
    found = compare(lambda side: backfill(side, side.stream(**BACKFILLS[name])).seen, pair)
    assert not isinstance(found, Refusal), found
    assert bool(found) == (name not in ("an empty topic", "latest"))


def test_a_backfill_ends_at_the_end_where_the_connector_leaves_a_last_micro_batch_that_is_too_small(pair):
    """What docs/spark.md says: PySpark asks of a source that Trigger.AvailableNow reaches its target."""
    options = {**EARLY, "minOffsetsPerTrigger": "100", "maxOffsetsPerTrigger": "200"}
    theirs, ours = (
        backfill(pair.sides[name], pair.sides[name].stream(**options)).seen for name in ("kafka", "headrace")
    )
    assert ours[:2] == theirs
    assert len(merged(ours)) == sum(CLICKS) > len(merged(theirs))


@pytest.mark.parametrize("name", TASKS)
def test_the_same_options_make_as_many_tasks_of_a_micro_batch(pair, name):
    assert min(compare(lambda side: backfill(side, side.stream(**TASKS[name])).tasks, pair)) >= 1


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(pair, name):
    both_refuse(lambda side: backfill(side, side.stream(**REFUSED[name])).seen, pair)


def test_the_progress_of_a_query_tells_the_same_offsets(pair):
    def program(side):
        query = backfill(side, side.stream(**EARLY, maxOffsetsPerTrigger="200")).query
        told = []
        for progress in query.recentProgress:
            (source,) = json.loads(progress.json)["sources"] if hasattr(progress, "json") else progress["sources"]
            if source["numInputRows"]:
                offsets = [source[name] for name in ("startOffset", "endOffset", "latestOffset")]
                told.append(
                    (source["numInputRows"], *(json.loads(one) if isinstance(one, str) else one for one in offsets))
                )
        return told

    assert len(compare(program, pair)) == 3


def test_a_restart_reads_what_is_new_and_a_crashed_micro_batch_again(pair, topic):
    pair.create(topic, 2)
    checkpoints = {name: Checkpoint(side) for name, side in pair.sides.items()}
    for partition in range(2):
        pair.write(topic, partition, [click(partition, number) for number in range(50 + 20 * partition)])

    def program(side, **options):
        frame = side.stream(subscribe=topic, startingOffsets="earliest", **options)
        return backfill(side, frame, checkpoints[side.format]).seen

    first = compare(lambda side: program(side, maxOffsetsPerTrigger="50"), pair)
    assert len(first) == 3
    assert compare(program, pair) == []
    for one in checkpoints.values():
        one.forget_commit(2)
    pair.write(topic, 0, [click(0, 50)])
    assert len(compare(lambda side: program(side, maxOffsetsPerTrigger="50"), pair)) == 2
    pair.grow(topic, 3)
    pair.write(topic, 2, [click(2, number) for number in range(10)])
    pair.write(topic, 1, [click(1, 70)])
    (found,) = compare(lambda side: program(side), pair)
    assert ends_of(found) == {(topic, 1): (70, 70, 1), (topic, 2): (0, 9, 10)}


def test_new_topics_of_a_pattern_come_up_while_a_query_runs(pair, topic):
    pair.create(f"{topic}-a", 1)
    pair.write(f"{topic}-a", 0, [click(0, number) for number in range(5)])
    found = {}
    queries = {}
    with ExitStack() as stack:
        for name, side in pair.sides.items():
            frame = side.stream(subscribePattern=f"^{topic}", **{"kafka.metadata.max.age.ms": "100"})
            queries[name] = stack.enter_context(running(side, frame))
            queries[name].settle()
        pair.write(f"{topic}-a", 0, [click(0, number) for number in range(5, 8)])
        for name, query in queries.items():
            found[name] = query.settle()
        pair.create(f"{topic}-b", 2)
        pair.write(f"{topic}-b", 1, [click(1, number) for number in range(4)])
        pair.grow(f"{topic}-a", 2)
        pair.write(f"{topic}-a", 1, [click(1, number) for number in range(3)])
        for name, query in queries.items():
            found[name] = merged([*found[name], *query.settle()])
    assert found["headrace"] == found["kafka"]
    assert ends_of(found["kafka"]) == {
        (f"{topic}-a", 0): (5, 7, 3),
        (f"{topic}-a", 1): (0, 2, 3),
        (f"{topic}-b", 1): (0, 3, 4),
    }


def test_a_micro_batch_waits_for_enough_offsets(pair, topic):
    pair.create(topic, 2)
    options = {"subscribe": topic, "startingOffsets": "earliest", "minOffsetsPerTrigger": "50"}
    pair.write(topic, 0, [click(0, number) for number in range(10)])
    sizes = {}
    for name, side in pair.sides.items():
        with running(side, side.stream(**options, maxTriggerDelay="1h", maxOffsetsPerTrigger="60")) as query:
            told = [query.settle()]  # the first one does not wait
            write_to(side, topic, 0, 10, 40)
            told.append(query.settle())
            write_to(side, topic, 1, 0, 30)
            told.append(query.settle())
            sizes[name] = [[ends_of(batch) for batch in batches] for batches in told]
    for told in sizes.values():
        assert told[:2] == [[{(topic, 0): (0, 9, 10)}], []]
        (last,) = told[2]  # it begins as soon as there are enough, perhaps while some are being written
        assert 50 <= sum(count for _first, _last, count in last.values()) <= 60


def write_to(side, topic, partition, first, end):
    write(side.bootstrap, topic, partition, [click(partition, number) for number in range(first, end)])


def test_a_delay_that_is_over_ends_the_wait(pair, topic):
    pair.create(topic, 1)
    pair.write(topic, 0, [click(0, 0)])
    options = {
        "subscribe": topic,
        "startingOffsets": "earliest",
        "minOffsetsPerTrigger": "50",
        "maxTriggerDelay": "1ms",
    }

    def program(side):
        with running(side, side.stream(**options)) as query:
            query.settle()
        return [ends_of(batch) for batch in query.seen]

    assert compare(program, pair) == [{(topic, 0): (0, 0, 1)}]


LOSSES = ["trimmed", "deleted", "made again, shorter", "partition gone"]


@pytest.mark.parametrize("fails", ["true", "false"])
@pytest.mark.parametrize("loss", LOSSES)
def test_lost_records_end_a_query_or_are_passed_over(pair, topic, loss, fails):
    pair.create(topic, 2)
    pair.create(f"{topic}-other", 1)
    for partition in range(2):
        pair.write(topic, partition, [click(partition, number) for number in range(40)])
    pair.write(f"{topic}-other", 0, [click(0, number) for number in range(7)])
    checkpoints = {name: Checkpoint(side) for name, side in pair.sides.items()}

    def program(side):
        frame = side.stream(subscribePattern=f"^{topic}", startingOffsets="earliest", failOnDataLoss=fails)
        return [ends_of(batch) for batch in backfill(side, frame, checkpoints[side.format]).seen]

    assert len(compare(program, pair)) == 1
    if loss == "trimmed":
        pair.write(topic, 0, [click(0, number) for number in range(40, 60)])
        pair.trim(topic, 0, 50)
    else:
        pair.delete(topic)
        if loss == "made again, shorter":
            pair.create(topic, 2)
            pair.write(topic, 0, [click(0, number) for number in range(9)])
        elif loss == "partition gone":
            pair.create(topic, 1)
            pair.write(topic, 0, [click(0, number) for number in range(50)])
    pair.write(f"{topic}-other", 0, [click(0, 7)])
    found = compare(program, pair)
    assert isinstance(found, Refusal) == (fails == "true"), found


def test_what_a_query_at_latest_does_first(pair, topic):
    """One micro-batch without records, which says where the query started: of both, with Trigger.AvailableNow."""
    pair.create(topic, 1)
    pair.write(topic, 0, [click(0, 0)])
    counts = {}
    for name, side in pair.sides.items():
        checkpoint = Checkpoint(side)
        assert backfill(side, side.stream(subscribe=topic), checkpoint).seen == []
        counts[name] = len(list((checkpoint.path / "commits").glob("[0-9]*")))
    assert counts == {"kafka": 1, "headrace": 1}
