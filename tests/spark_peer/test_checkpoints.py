"""A checkpoint goes from the connector to us and back: a query changes its format and nothing else."""

import json

import pytest

from headrace.spark.stream_offsets import EPOCHS
from tests.spark_peer.queries import Checkpoint, backfill, ends_of, rows_of, running
from tests.spark_peer.topics import click

pytestmark = pytest.mark.interop


@pytest.fixture
def grown(pair, topic):
    """A topic on both sides; `more(n)` writes that many records into each of its two partitions."""
    pair.create(topic, 2)
    at = [0, 0]

    def more(count):
        for partition in range(2):
            pair.write(
                topic, partition, [click(partition, number) for number in range(at[partition], at[partition] + count)]
            )
            at[partition] += count
        return at[0]

    more.topic = topic
    return more


@pytest.mark.parametrize("order", [("kafka", "headrace", "kafka"), ("headrace", "kafka", "headrace")])
def test_a_checkpoint_is_taken_over_and_given_back(pair, grown, order):
    checkpoint = Checkpoint(pair.sides[order[0]])
    topic = grown.topic
    end, seen = 0, []
    for number, name in enumerate(order):
        side = pair.sides[name]
        end, begin = grown(30 + 10 * number), end
        query = backfill(
            side, side.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="50"), checkpoint
        )
        seen += query.seen
        assert {row[2] for batch in query.seen for row in batch} == set(range(begin, end)), name
    offsets = [row[1:3] for batch in seen for row in batch]
    assert sorted(offsets) == [(partition, offset) for partition in range(2) for offset in range(end)]
    files = sorted((checkpoint.path / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    said = [json.loads(path.read_text().splitlines()[-1]) for path in files]
    assert said[-1] == {topic: {"0": end, "1": end}}
    assert all(name == topic or (name.startswith(EPOCHS) and not held) for one in said for name, held in one.items())


@pytest.mark.parametrize("order", [("kafka", "headrace") * 2, ("headrace", "kafka") * 2], ids=lambda order: order[0])
def test_a_running_query_moves_and_has_seen_each_of_200_rows_once(pair, grown, order):
    """Rows come while it runs, and while it is stopped between two formats."""
    checkpoint, seen = Checkpoint(pair.sides[order[0]]), []
    for name in order:
        side = pair.sides[name]
        end = grown(5)
        with running(side, side.stream(subscribe=grown.topic, startingOffsets="earliest"), checkpoint) as query:
            query.settle()
            end = grown(20)
            query.settle()
        seen += [row[1:3] for batch in query.seen for row in batch]
        assert sorted(seen) == [(partition, offset) for partition in range(2) for offset in range(end)], name
    assert len(seen) == 200


@pytest.mark.parametrize("order", [("kafka", "headrace"), ("headrace", "kafka")])
def test_a_micro_batch_that_one_began_is_finished_by_the_other(pair, grown, order):
    grown(40)
    first, second = (pair.sides[name] for name in order)
    checkpoint = Checkpoint(first)
    options = {"subscribe": grown.topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "50"}
    before = backfill(first, first.stream(**options), checkpoint).seen
    checkpoint.forget_commit(len(before) - 1)
    grown(5)
    after = backfill(second, second.stream(**options), checkpoint).seen
    assert after[0] == before[-1]
    assert ends_of(after[1]) == {(grown.topic, 0): (40, 44, 5), (grown.topic, 1): (40, 44, 5)}


def test_state_goes_along(pair, grown):
    topic, found = grown.topic, {}
    checkpoints = {name: Checkpoint(pair.sides["kafka"]) for name in ("changed", "kafka")}
    for number in range(3):
        grown(20)
        for kept, checkpoint in checkpoints.items():
            side = pair.sides["headrace" if kept == "changed" and number == 1 else "kafka"]
            frame = side.stream(subscribe=topic, startingOffsets="earliest").groupBy("key").count()
            seen = backfill(side, frame, checkpoint, take=rows_of, output="update").seen
            found.setdefault(kept, []).append(seen)
    assert found["changed"] == found["kafka"]
    assert all(found["kafka"])
