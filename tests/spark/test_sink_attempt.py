"""A row of an exactly-once sink is stored once: whoever dies, whoever wakes up late, and what can't be known is said."""

import json
import time

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from headrace.client.cluster import Cluster
from headrace.client.engine.identity import GivenIdentity
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.failures import DeliveryFailed
from headrace.client.kafka import Kafka
from headrace.client.kafka_producer import KafkaProducer
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.spark import sink_acknowledged
from headrace.spark.errors import RowsDiffer, StaleCheckpoint
from headrace.spark.row_digest import RowDigest
from headrace.spark.sink import HeadraceWriter, connect, write_numbered, write_once
from headrace.spark.sink_attempt import KEYLESS_RUN, Attempt
from headrace.spark.sink_floors import NO_BATCH, Ends, Floors, settle_floors
from headrace.spark.sink_options import parse_sink_options
from headrace.spark.sink_task import EPOCHS, OWN_IDS_FROM, SinkTask
from headrace.spark.stream_sink import HeadraceStreamWriter
from tests.support.waiting import wait_until

OUT0, OUT1 = TopicPartition("out", 0), TopicPartition("out", 1)
TASK = SinkTask("query", "run 1", 0, 0)
RESTARTED = TASK._replace(run="run 2")
DEADLINE_S = 120
STEP_S = 0.05


@pytest.fixture
def out(log):
    for name in (OUT0, OUT1):
        log.create(*name)
    return log


@pytest.fixture
def options(broker):
    return parse_sink_options(
        {
            "kafka.bootstrap.servers": broker.address, "topic": "out", "headrace.exactly.once": "true",
            "kafka.batch.size": "300", "kafka.linger.ms": "0", "kafka.delivery.timeout.ms": "20000",
        }
    )  # fmt: skip


@pytest.fixture
def writer(out, options):
    """As Spark makes it in the driver, before the tasks of a micro-batch."""
    return HeadraceStreamWriter(options)


def rows(numbers, partition=0):
    return pa.record_batch(
        {
            "key": [b"k%d" % number for number in numbers],
            "value": [b"v%d" % number for number in numbers],
            "partition": pa.array([partition] * len(numbers), pa.int32()),
        }
    )


def digest_of(batch):
    found = RowDigest()
    for row in batch.to_pylist():
        found.add(row["key"], row["value"], (), row.get("partition"))
    return found


def values(log, *names):
    return [int(record.value[1:]) for name in names or (OUT0, OUT1) for record in log.records(name)]


class Died(Exception):
    """The task's process is gone."""


def dying(batches, broker):
    before = broker.asked[ApiKey.PRODUCE]
    for batch in batches:
        yield batch
        if broker.asked[ApiKey.PRODUCE] == before:
            time.sleep(STEP_S)  # a task writes while its connection is made, and dies when it has written some
    raise Died


@pytest.fixture
def die_after(broker):
    def die_after(writer, task, *batches):
        """An attempt that wrote some rows and was not heard of again."""
        with pytest.raises(Died):
            writer.write_task(dying(batches or [rows([number]) for number in range(40)], broker), task)
        wait_until(lambda: broker.is_idle, "what was sent is not stored")

    return die_after


def test_rows_are_stored_in_their_order_under_an_id_of_the_task(writer, out):
    assert writer.write_task(iter([rows(range(50))]), TASK).records == 50
    assert values(out) == list(range(50))
    headers = {(header.producer_id, header.producer_epoch) for header, _ in out.batches(OUT0)}
    assert headers == {(TASK.producer_id, 0)}
    assert TASK.producer_id >= OWN_IDS_FROM


@pytest.mark.parametrize("task", [TASK, RESTARTED])
def test_an_attempt_goes_on_where_one_before_it_died(writer, out, task, die_after):
    die_after(writer, TASK)
    there = len(values(out))
    assert 0 < there <= 40
    assert writer.write_task(iter([rows(range(50))]), task).records == 50 - there
    assert values(out) == list(range(50))


def test_what_leaders_have_forgotten_is_found_in_the_log_after_a_start(writer, options, out, broker, die_after):
    die_after(writer, TASK)
    broker.forget_producers()
    there = len(values(out))
    # sequences that follow on nothing are refused, and nothing is stored twice for it
    with pytest.raises(DeliveryFailed, match="UNKNOWN_PRODUCER_ID"):
        HeadraceStreamWriter(options).write_task(iter([rows(range(50))]), RESTARTED)
    assert values(out) == list(range(there))


@pytest.mark.parametrize("stored", [range(10, 30), range(10, 20)], ids=["all", "some"])
def test_what_leaders_have_forgotten_is_found_by_the_next_attempt_of_the_same_run(options, out, broker, stored):
    """`headrace.producer.ids.max`: the idlest are evicted, and an unknown producer begins with any sequence."""
    committed(options, 0, rows(range(10)))
    writer, task = HeadraceStreamWriter(options), TASK._replace(batch=1)
    writer.write_task(iter([rows(stored)]), task)
    broker.forget_producers()
    broker.takes_unknown_producers = True
    again = task._replace(attempt=1)
    assert writer.write_task(iter([rows(range(10, 30))]), again).records == 20 - len(stored)
    assert values(out) == list(range(30))


def test_a_leader_of_more_producers_than_it_tells_at_once_is_asked_again(options, out, broker):
    out.create("out", 2)

    def spread(number):
        values = [b"v%d" % value for value in range(30 * number, 30 * number + 30)]
        return iter([pa.record_batch({"value": values, "partition": pa.array([0, 1, 2] * 10, pa.int32())})])

    for number in range(3):
        HeadraceStreamWriter(options).write_task(spread(number), TASK._replace(number=number))
    broker.described_max = 2
    asked = broker.asked[ApiKey.DESCRIBE_PRODUCERS]
    assert HeadraceStreamWriter(options).write_task(spread(0), TASK).records == 0
    assert broker.asked[ApiKey.DESCRIBE_PRODUCERS] == asked + 3
    broker.fail[ApiKey.DESCRIBE_PRODUCERS, ErrorCode.INVALID_REQUEST] = 1
    with pytest.raises(KafkaError, match="INVALID_REQUEST"):
        HeadraceStreamWriter(options).write_task(spread(0), TASK)


def test_rows_that_a_forgotten_producer_wrote_twice_are_said_to_be_there_twice(options, out, broker):
    committed(options, 0, rows(range(10)))
    writer, task = HeadraceStreamWriter(options), TASK._replace(batch=1)
    for _ in range(2):  # a zombie that writes all of its rows again
        writer.write_task(iter([rows(range(10, 13))]), task)
        broker.forget_producers()
    with pytest.raises(RowsDiffer, match="rows 0 to 2 of out-0 are in the log twice"):
        writer.write_task(iter([rows(range(10, 13))]), task._replace(attempt=1))


def test_a_whole_attempt_whose_word_was_lost_writes_nothing_more(writer, out):
    writer.write_task(iter([rows(range(50))]), TASK)
    assert writer.write_task(iter([rows(range(50))]), RESTARTED).records == 0
    assert values(out) == list(range(50))


def test_a_committed_micro_batch_is_not_looked_at_again(writer, options, out, broker):
    written = writer.write_task(iter([rows(range(50))]), TASK)
    HeadraceStreamWriter(options).commit([written, None], 0)
    broker.forget_producers()
    fetched = broker.asked[ApiKey.FETCH]
    seen = []
    assert writer.write_task((seen.append(one) or one for one in [rows(range(50))]), RESTARTED).records == 0
    assert seen, "what comes before the sink sees the end of its rows"
    assert broker.asked[ApiKey.FETCH] == fetched
    assert values(out) == list(range(50))


def test_micro_batches_of_one_run_read_nothing_back(options, out, broker):
    for batch in range(3):
        writer = HeadraceStreamWriter(options)
        written = writer.write_task(iter([rows(range(10 * batch, 10 * batch + 10))]), TASK._replace(batch=batch))
        HeadraceStreamWriter(options).commit([written], batch)
        if not batch:
            fetched = broker.asked[ApiKey.FETCH]
    assert broker.asked[ApiKey.FETCH] == fetched
    assert values(out) == list(range(30))
    (note,) = {note for _offset, note in broker.committed.values()}
    assert json.loads(note) == {"batch": 2, "run": "run 1", "rows": str(digest_of(rows(range(20, 30))))}


def committed(options, batch, *tasks, run="run 1"):
    """A micro-batch, of as many tasks as there are Arrow batches."""
    writer = HeadraceStreamWriter(options)
    task = TASK._replace(batch=batch, run=run)
    written = [writer.write_task(iter([one]), task._replace(number=number)) for number, one in enumerate(tasks)]
    HeadraceStreamWriter(options).commit(written, batch)
    return sum(one.records for one in written)


def test_a_micro_batch_of_an_older_checkpoint_is_refused_by_its_number(options, out):
    for batch in range(3):
        committed(options, batch, rows(range(10 * batch, 10 * batch + 10)))
    there = values(out)
    for batch in (0, 1):
        with pytest.raises(StaleCheckpoint, match=f"micro-batch {batch} of query query comes after micro-batch 2"):
            committed(options, batch, rows(range(90, 99)), run="run 2")
    assert values(out) == there


def test_other_rows_under_the_last_number_are_refused_and_the_same_ones_are_there(options, out):
    """A checkpoint that is one micro-batch behind, whose micro-batches have as many rows each."""
    committed(options, 0, rows(range(10)), rows(range(10, 20), 1))
    assert committed(options, 0, rows(range(10)), rows(range(10, 20), 1), run="run 2") == 0
    assert (
        committed(options, 0, rows(range(10, 20), 1), rows(range(10)), run="run 3") == 0
    )  # in another order, the same rows
    for others in (
        [rows(range(20))],
        [rows(range(20, 30)), rows(range(10, 20), 1)],
        [rows(range(10)), rows(range(10, 20))],
    ):
        with pytest.raises(StaleCheckpoint, match="micro-batch 0 of query query was committed with other rows"):
            committed(options, 0, *others, run="run 4")
    assert sorted(values(out)) == list(range(20))
    committed(options, 1, rows(range(20, 30)), run="run 4")
    assert sorted(values(out)) == list(range(30))


def test_a_micro_batch_that_an_earlier_version_committed_has_no_rows_to_compare(options, out, broker):
    committed(options, 0, rows(range(10)))
    for name, (offset, note) in broker.committed.items():
        broker.committed[name] = (
            offset,
            json.dumps({key: value for key, value in json.loads(note).items() if key != "rows"}),
        )
    assert committed(options, 0, rows(range(10)), run="run 2") == 0
    assert values(out) == list(range(10))


def test_a_digest_is_of_rows_whatever_their_order_and_task():
    one, other = digest_of(rows([1, 2])), digest_of(rows([3]))
    assert str(one + other) == str(digest_of(rows([3, 2, 1])))
    assert one != digest_of(rows([1, 3]))
    assert digest_of(rows([1])) != digest_of(rows([1], 1))
    assert digest_of(rows([1, 1])) != digest_of(rows([1]))
    near = [(b"a", b"b|c"), (b"a|b", b"c"), (b"", b"a"), (None, b"a"), (b"a", None), (b"a", b"")]
    assert len({str(digest_of(pa.record_batch({"key": [key], "value": [value]}))) for key, value in near}) == len(near)


def numbered(broker, frame, version, app_id="report", **options):
    given = {
        "kafka.bootstrap.servers": broker.address, "topic": "out", "headrace.exactly.once": "true",
        "txnAppId": app_id, "txnVersion": version, **options,
    }  # fmt: skip
    frame.write.format("headrace").options(**given).mode("append").save()


def test_a_numbered_batch_of_spark_is_stored_once(spark, out, broker):
    """As `foreachBatch` writes: the whole micro-batch again, after it was committed and before."""
    frame = spark.range(0, 60, 1, 2).selectExpr("concat('v', id) AS value", "CAST(id % 2 AS INT) AS partition")
    for _ in range(2):
        numbered(broker, frame, 0)
    assert sorted(values(out)) == list(range(60))
    after = spark.range(60, 120, 1, 2).selectExpr("concat('v', id) AS value", "CAST(id % 2 AS INT) AS partition")
    broken = after.selectExpr("IF(value = 'v119', raise_error('dead'), value) AS value", "partition")
    with pytest.raises(PySparkException, match="dead"):
        numbered(broker, broken, 1)
    numbered(broker, after, 1)
    assert sorted(values(out)) == list(range(120))
    with pytest.raises(PySparkException, match="micro-batch 0 of query report comes after micro-batch 1"):
        numbered(broker, after, 0)
    with pytest.raises(PySparkException, match="micro-batch 1 of query report was committed with other rows"):
        numbered(broker, frame, 1)
    assert sorted(values(out)) == list(range(120))
    numbered(broker, frame, 0, app_id="another")
    assert len(values(out)) == 180


def test_a_late_attempt_of_an_earlier_micro_batch_adds_nothing(options, out):
    writer = HeadraceStreamWriter(options)
    written = writer.write_task(iter([rows(range(20))]), TASK)

    def late():  # it looked before the other attempt wrote, and sends after the next micro-batch
        yield rows(range(20))

    HeadraceStreamWriter(options).commit([written], 0)
    HeadraceStreamWriter(options).write_task(iter([rows(range(20, 30))]), TASK._replace(batch=1))
    with pytest.raises(DeliveryFailed, match="INVALID_PRODUCER_EPOCH"):
        write_once(options, late(), TASK, Floors({OUT0: 1000, OUT1: 1000}, NO_BATCH, "run 1"), Ends({}, {}))
    assert values(out) == list(range(30))


def test_two_attempts_at_once_store_each_row_once_and_the_second_is_refused(writer, out):
    """The first one stops in the middle, is overtaken, and wakes up."""
    overtaken = []

    def slow():
        for number in range(30):
            yield rows([number])
        overtaken.append(writer.write_task(iter([rows(range(50))]), TASK).records)
        yield rows(range(30, 50))

    with pytest.raises(DeliveryFailed, match=r"OUT_OF_ORDER|DUPLICATE"):
        writer.write_task(slow(), TASK)
    assert overtaken[0] >= 20
    assert values(out) == list(range(50))


@pytest.mark.parametrize(
    ("task", "other"),
    [
        (TASK._replace(batch=1, attempt=1), TASK._replace(batch=1)),
        (TASK._replace(batch=1), TASK._replace(batch=1, attempt=1)),
        (RESTARTED._replace(batch=1), TASK._replace(batch=1)),
    ],
    ids=["given-up", "copied", "of-the-run-before"],
)
@pytest.mark.parametrize("order", [range(10, 20), [11, 10, *range(12, 20)]], ids=["same", "another"])
def test_attempts_at_once_with_rows_in_another_order_are_seen_when_all_is_acknowledged(
    broker, out, options, task, other, order
):
    """Both look before either writes; the other one stores its first row and dies. A batch of one row has the same sequences."""
    committed(options, 0, rows(range(10)))
    given = {"kafka.bootstrap.servers": broker.address, "topic": "out", "headrace.exactly.once": "true"}
    writer = HeadraceStreamWriter(parse_sink_options({**given, "kafka.batch.size": "1"}))

    def slow():
        writer.write_task(iter([rows([10])]), other)
        yield rows(order)

    if order[0] == 10:
        assert writer.write_task(slow(), task).records == 10
        assert values(out) == list(range(20))
        return
    with pytest.raises(RowsDiffer, match=r"rows of out-0 from offset 1[01] to 1[01] are not the 1 of this attempt"):
        writer.write_task(slow(), task)


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        ([0, 1, 2, 30, *range(4, 50)], "row 3 of partition out-0 is not the one that an earlier attempt wrote there"),
        ([0, 1, 2], "this one has 3"),
    ],
)
def test_rows_that_differ_are_refused(writer, out, again, reason):
    writer.write_task(iter([rows(range(10))]), TASK)
    there = values(out)
    with pytest.raises(RowsDiffer, match=reason):
        writer.write_task(iter([rows(again)]), TASK)
    assert values(out) == there


def shared_out(writer, numbers, tasks, task=TASK, placed_by="partition"):
    """The rows of a micro-batch, dealt out in ranges over so many tasks; what was refused."""
    refused = []
    size = -(-len(numbers) // tasks)
    for number in range(tasks):
        mine = rows(numbers[number * size : (number + 1) * size])
        places = {"key": mine.drop_columns("partition"), "none": mine.select(["value"])}
        turns = pa.array([one % 2 for one in numbers[number * size : (number + 1) * size]], pa.int32())
        batches = [places.get(placed_by, mine.set_column(2, "partition", turns))]
        try:
            writer.write_task(iter(batches), task._replace(number=number))
        except RowsDiffer as failure:
            refused.append(str(failure))
    return refused


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 4), (4, 3), (3, 4), (4, 1), (1, 4), (7, 2)])
@pytest.mark.parametrize(
    ("count", "placed_by"), [(112, "partition"), (1000, "partition"), (1000, "key"), (1000, "none")]
)
def test_another_number_of_tasks_stores_no_row_twice(options, out, before, after, count, placed_by):
    """Interrupted after all tasks had written; continued with other tasks, then as before."""
    numbers = list(range(count))
    assert not shared_out(HeadraceStreamWriter(options), numbers, before, TASK, placed_by)
    refused = shared_out(HeadraceStreamWriter(options), numbers, after, RESTARTED, placed_by)
    assert refused
    assert sorted(values(out)) == numbers
    third = RESTARTED._replace(run="run 3")
    assert not shared_out(HeadraceStreamWriter(options), numbers, before, third, placed_by)
    assert sorted(values(out)) == numbers


def test_tasks_whose_rows_are_alike_go_on(options, out, die_after):
    """Rows that are the same in each task, many times or a few, are no other task's."""
    for batch, mine in enumerate(([rows([1, 1, 2, 1, 2] * 20)], [rows([7, 8])])):
        task = TASK._replace(batch=batch)
        writer = HeadraceStreamWriter(options)
        for number in range(2):
            writer.write_task(iter(mine), task._replace(number=number))
        die_after(HeadraceStreamWriter(options), task._replace(number=2), *mine)
        again = [
            HeadraceStreamWriter(options).write_task(iter(mine), task._replace(number=number, run="run 2"))
            for number in range(4)
        ]
        HeadraceStreamWriter(options).commit(again, batch)
    assert len(values(out)) == 4 * 102


def test_tasks_with_a_run_of_the_same_rows_go_on_where_the_option_names_their_micro_batch(broker, options, out):
    """An upstream producer stored a batch twice; the driver died when the first task was done."""
    mine = [rows([number, *range(10, 18), 2 + number]) for number in range(2)]
    HeadraceStreamWriter(options).write_task(iter([mine[0]]), TASK)
    second = RESTARTED._replace(number=1)
    given = {"kafka.bootstrap.servers": broker.address, "topic": "out", "headrace.exactly.once": "true"}

    def go_on(**alike):
        writer = HeadraceStreamWriter(parse_sink_options({**given, **alike}))
        return writer.write_task(iter([mine[1]]), second).records

    for alike in ({}, {"headrace.exactly.once.alike": "1"}):
        with pytest.raises(RowsDiffer, match=r"restart it with option headrace\.exactly\.once\.alike 0$"):
            go_on(**alike)
    assert go_on(**{"headrace.exactly.once.alike": "0"}) in (9, 10)  # what was sent before it was refused is there
    assert values(out) == [0, *range(10, 18), 2, 1, *range(10, 18), 3]


def test_rows_that_retention_deleted_meanwhile_were_stored(options, writer, out, die_after):
    die_after(writer, TASK)
    there = len(values(out))
    out.starts[OUT0] = out.batches(OUT0)[-1][0].base_offset
    again = HeadraceStreamWriter(options)
    assert again.write_task(iter([rows(range(50))]), RESTARTED).records == 50 - there
    assert values(out) == list(range(50))


def test_rows_whose_place_in_the_log_has_no_gap_were_lost(options, out):
    """A log that was truncated, of whose producers its leader knew nothing then."""
    out.append(OUT0, [(b"k5", b"v5")], producer_id=TASK.producer_id, producer_epoch=0, base_sequence=5)
    with pytest.raises(
        RowsDiffer, match=r"rows 0 to 4 of out-0 are missing from the log before offset 0, .* truncated"
    ):
        settled(options, {OUT0: 0, OUT1: 0}).write_task(iter([rows(range(50))]), RESTARTED)


def settled(options, offsets):
    """A writer whose query has floors at these offsets."""
    with connect(options) as cluster:
        settle_floors(cluster, "out", TASK, Ends(offsets, {}))
    return HeadraceStreamWriter(options)


def clean(log, *first_sequences, name=OUT0):
    """As the cleaner leaves a log: these batches alone."""
    kept = [data for header, data in log.batches(name) if header.base_sequence in first_sequences]
    log.rewrite(name, b"".join(kept))


def first_sequences(log, name=OUT0):
    return [header.base_sequence for header, _ in log.batches(name)]


@pytest.fixture
def before_compare(monkeypatch):
    """Have something happen when all rows are acknowledged and none was compared."""

    def before_compare(happens):
        compare = Attempt.compare

        def late(attempt, cluster):
            happens()
            return compare(attempt, cluster)

        monkeypatch.setattr(Attempt, "compare", late)

    return before_compare


def test_the_cleaner_may_pass_before_rows_are_compared(writer, options, out, before_compare):
    """The first micro-batch of a run, and the next run."""
    before_compare(lambda: clean(out, *first_sequences(out)[3:]))
    assert writer.write_task(iter([rows(range(50))]), TASK).records == 50
    assert first_sequences(out)[0]
    assert HeadraceStreamWriter(options).write_task(iter([rows(range(50))]), RESTARTED).records == 0


def test_retention_may_pass_before_rows_are_compared(writer, out, before_compare):
    before_compare(lambda: out.starts.update({OUT0: 20}))
    assert writer.write_task(iter([rows(range(50))]), TASK).records == 50


def test_an_attempt_goes_on_in_a_log_that_the_cleaner_has_passed(writer, options, out, die_after):
    die_after(writer, TASK)
    there = len(values(out))
    clean(out, *first_sequences(out)[-1::-2][:-1] or first_sequences(out)[-1:])
    first = first_sequences(out)[0]
    with pytest.raises(RowsDiffer, match=f"row {first} of partition out-0 is not the one"):
        HeadraceStreamWriter(options).write_task(iter([rows([*range(first), *[99] * 50])]), RESTARTED)
    assert HeadraceStreamWriter(options).write_task(iter([rows(range(50))]), RESTARTED).records == 50 - there
    assert values(out)[-(50 - there) :] == list(range(there, 50))


def test_acknowledged_rows_in_whose_place_others_are_were_lost(writer, out, before_compare):
    def truncated():
        at = out.batches(OUT0)[2][0].base_offset
        out.cut(OUT0, at)
        out.append(OUT0, [(b"k", b"v99")] * 60)

    before_compare(truncated)
    with pytest.raises(RowsDiffer, match=r"rows of out-0 from offset \d+ to \d+ were acknowledged, .* truncated"):
        writer.write_task(iter([rows(range(50))]), TASK)


def test_acknowledged_rows_that_the_log_does_not_reach_are_waited_for(writer, out, before_compare, monkeypatch):
    monkeypatch.setattr(sink_acknowledged, "REPLICATED_S", 0.3)
    before_compare(lambda: out.cut(OUT0, out.batches(OUT0)[-1][0].base_offset))
    with pytest.raises(RowsDiffer, match="acknowledged up to offset 50, but the log ends at"):
        writer.write_task(iter([rows(range(50))]), TASK)


def test_rows_of_another_attempt_beyond_the_last_one_are_seen(writer, out, before_compare):
    more = {"producer_id": TASK.producer_id, "producer_epoch": 0}

    def zombie():
        header = out.batches(OUT0)[-1][0]
        given = GivenIdentity(more["producer_id"], 0, {OUT0: header.base_sequence + header.record_count})
        engine = Kafka(writer._options.bootstrap_servers).engine()
        with KafkaProducer(engine, ProducingOptions(), None, None, given=given) as producer:
            producer.send("out", b"v50", partition=0)

    before_compare(zombie)
    with pytest.raises(
        RowsDiffer, match="another attempt wrote 51 rows to out-0 at the same time, but this one has 50"
    ):
        writer.write_task(iter([rows(range(50))]), TASK)


def test_tasks_of_one_run_with_the_same_rows_are_not_asked_for_an_option(options, out, broker):
    """The first micro-batch: the second task looks when the first one has written."""
    writer = HeadraceStreamWriter(options)
    for number in range(2):
        task = TASK._replace(number=number)
        assert writer.write_task(iter([rows([100 + number, *range(8)])]), task).records == 9
    for version in range(2):
        given = {
            "kafka.bootstrap.servers": broker.address, "topic": "out", "headrace.exactly.once": "true",
            "txnAppId": "app", "txnVersion": str(version),
        }  # fmt: skip
        numbered_options = parse_sink_options(given)
        batch = HeadraceWriter(numbered_options)
        written = [
            write_numbered(
                numbered_options,
                iter([rows([100 + number, *range(8)])]),
                SinkTask("app", batch._run, version, number),
                batch._ends,
            )
            for number in range(2)
        ]
        batch.commit(written)
        assert [one.records for one in written] == [9, 9]


def test_tasks_of_one_run_read_back_their_own_rows_alone(options, out, monkeypatch):
    """As many tasks as there are, nobody reads what the others wrote."""
    fetched = []
    fetch = Cluster.fetch

    def counted(cluster, name, start, end, **limits):
        for data in fetch(cluster, name, start, end, **limits):
            fetched.append(len(data))
            yield data

    monkeypatch.setattr(Cluster, "fetch", counted)
    writer = HeadraceStreamWriter(options)
    for number in range(8):
        task = TASK._replace(number=number)
        writer.write_task(iter([rows(range(20 * number, 20 * number + 20))]), task)
    written = sum(len(data) for _, data in out.batches(OUT0))
    assert written <= sum(fetched) <= 2 * written


def test_a_numbered_batch_does_not_read_the_one_before_it(options, out, broker):
    given = {"kafka.bootstrap.servers": broker.address, "topic": "out", "headrace.exactly.once": "true"}
    for version in range(2):
        numbered_options = parse_sink_options({**given, "txnAppId": "app", "txnVersion": str(version)})
        batch = HeadraceWriter(numbered_options)
        task = SinkTask("app", batch._run, version, 0)
        batch.commit([write_numbered(numbered_options, iter([rows(range(20))]), task, batch._ends)])
    floors = {name: offset for (_group, name), (offset, _note) in broker.committed.items()}
    assert floors == {OUT0: 40, OUT1: 0}


def test_keys_and_rows_without_keys_go_where_they_went_before_though_the_topic_has_grown(
    writer, options, out, die_after
):
    keyed = pa.record_batch(
        {"value": [b"v%d" % number for number in range(100)], "key": [b"%d" % number for number in range(100)]}
    )
    keyless = pa.record_batch({"value": [b"v%d" % number for number in range(2 * KEYLESS_RUN)]})
    die_after(writer, TASK, keyed, keyless)
    out.create("out", 2)
    writer = HeadraceStreamWriter(options)
    written = writer.write_task(iter([keyed, keyless]), RESTARTED)
    assert sorted(values(out)) == sorted([*range(100), *range(2 * KEYLESS_RUN)])
    assert not out.records(TopicPartition("out", 2))
    assert min(len(values(out, OUT0)), len(values(out, OUT1))) > KEYLESS_RUN
    HeadraceStreamWriter(options).commit([written], 0)
    HeadraceStreamWriter(options).write_task(iter([keyed]), RESTARTED._replace(batch=1))
    assert out.records(TopicPartition("out", 2)), "the next micro-batch takes the topic as it is now"


def test_floors_that_are_gone_cost_a_walk_from_the_start(writer, out, broker, caplog, die_after):
    third = TASK._replace(batch=3)
    die_after(writer, third)
    broker.committed.clear()
    out.append(OUT1, [(None, b"other")])
    HeadraceStreamWriter(writer._options).write_task(iter([rows(range(50))]), third._replace(run="run 2"))
    assert values(out, OUT0) == list(range(50))
    assert "stored offsets of the sink not found" in caplog.text


@pytest.mark.parametrize("written", [5, 15], ids=["below-the-floor", "beyond-it"])
def test_rows_are_found_in_a_log_that_was_cut_below_the_floor(options, out, broker, caplog, written):
    """An unclean election took the end of a committed micro-batch; the next one wrote from there on, and was interrupted."""
    broker.epochs = {OUT0: [(0, 0)], OUT1: [(0, 0)]}
    for number in range(20):
        committed(options, number, rows([number]))
    out.cut(OUT0, 10)
    broker.epochs[OUT0] = [(0, 0), (1, 10)]
    broker.forget_producers()
    task = TASK._replace(batch=20)
    HeadraceStreamWriter(options).write_task(iter([rows(range(20, 20 + written))]), task)
    again = task._replace(run="run 2")
    assert HeadraceStreamWriter(options).write_task(iter([rows(range(20, 50))]), again).records == 30 - written
    assert values(out, OUT0) == [*range(10), *range(20, 50)]
    assert "the sink's topic was truncated partition=out-0 stored_up_to=20 searched_from=10" in caplog.text


def test_ids_differ_by_query_task_and_round_of_epochs():
    tasks = [
        TASK, TASK._replace(query="another"), TASK._replace(number=1), TASK._replace(batch=EPOCHS),
    ]  # fmt: skip
    assert len({task.producer_id for task in tasks}) == 4
    assert TASK._replace(batch=EPOCHS - 1).producer_id == TASK.producer_id
    assert (TASK._replace(batch=EPOCHS - 1).epoch, TASK._replace(batch=EPOCHS).epoch) == (EPOCHS - 1, 0)


def test_a_batch_of_spark(spark, out, broker):
    frame = spark.range(0, 5000, 1, 3).selectExpr("concat('v', id) AS value", "CAST(id % 2 AS INT) AS partition")
    writer = frame.write.format("headrace").option("kafka.bootstrap.servers", broker.address).option("topic", "out")
    writer.option("headrace.exactly.once", "true").mode("append").save()
    assert sorted(values(out)) == list(range(5000))
    assert len({header.producer_id for header, _ in out.batches(OUT0)}) == 3
    assert not broker.asked[ApiKey.FETCH], "tasks of one batch don't read what the others write"


def test_a_stream_that_is_stopped_in_a_micro_batch_goes_on_with_each_row_once(spark, out, broker, tmp_path):
    source = TopicPartition("source", 0)
    out.append(source, [(b"k%d" % number, b"v%d" % number) for number in range(50)])
    frame = spark.readStream.format("headrace").option("kafka.bootstrap.servers", broker.address)
    frame = frame.option("subscribe", "source").option("startingOffsets", "earliest").load().select("key", "value")

    def run():
        writer = frame.writeStream.format("headrace").option("kafka.bootstrap.servers", broker.address)
        writer = writer.option("topic", "out").option("headrace.exactly.once", "true").option("kafka.batch.size", "200")
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        return query.awaitTermination(DEADLINE_S)

    assert run()
    assert sorted(values(out)) == list(range(50))
    assert all(json.loads(note)["run"] for _offset, note in broker.committed.values()), "Spark tells the run"
    out.append(source, [(b"k%d" % number, b"v%d" % number) for number in range(50, 90)])
    commits = broker.asked[ApiKey.OFFSET_COMMIT]
    broker.fail[ApiKey.OFFSET_COMMIT, ErrorCode.GROUP_AUTHORIZATION_FAILED] = (
        1  # the micro-batch is written, and not committed
    )
    with pytest.raises(PySparkException):
        run()
    assert broker.asked[ApiKey.OFFSET_COMMIT] > commits
    assert run()
    assert sorted(values(out)) == list(range(90))
