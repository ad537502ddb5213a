"""Batches: the same options over the same records give the same rows, and tasks of the same offsets."""

import pytest

from tests.spark_peer.outcomes import Refusal, compare, plain, records, tasks
from tests.spark_peer.topics import CLICKS, T0

pytestmark = pytest.mark.interop

ALL = {"subscribe": "clicks"}
TIMES = {"subscribe": "times"}
BY_TIME = {"times": {"0": T0 + 1000, "1": T0 + 500, "2": T0}}

# options -> rows with all columns
READS = {
    "everything": ALL,
    "headers": {**ALL, "includeHeaders": "true"},
    "headers in capitals": {**ALL, "INCLUDEHEADERS": "TRUE"},
    "odd records": {"subscribe": "odd", "includeHeaders": "true"},
    "two topics": {"subscribe": " clicks , a.clicks,clicks"},
    "a pattern in the middle": {"subscribePattern": "click"},
    "a pattern at the end": {"subscribePattern": "ks$"},
    "a pattern of all": {"subscribePattern": "^(?!late|stamped|transactions|t-).*"},
    "a pattern of nothing": {"subscribePattern": "nothing like this"},
    "a dot in a pattern": {"subscribePattern": r"a\.c"},
    "assigned": {"assign": {"clicks": [2, 0], "a.clicks": [1]}},
    "an empty topic": {"subscribe": "empty"},
    "a topic beside an empty one": {"subscribe": "empty,a.clicks"},
    "compacted": {"subscribe": "compacted"},
    "compacted, from within": {
        "subscribe": "compacted",
        "startingOffsets": {"compacted": {"0": 150, "1": 190}},
        "endingOffsets": {"compacted": {"0": 195, "1": -1}},
    },
    "trimmed": {"subscribe": "trimmed"},
    "trimmed, by numbers": {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 40, "1": 99}}},
    "earliest to latest": {**ALL, "startingOffsets": "earliest", "endingOffsets": "latest"},
    "words in capitals": {**ALL, "startingOffsets": " EARLIEST ", "endingOffsets": "LATEST"},
    "offsets": {
        **ALL,
        "startingOffsets": {"clicks": {"0": 17, "1": -2, "2": 36, "3": 0}},
        "endingOffsets": {"clicks": {"0": 250, "1": 33, "2": -1, "3": -1}},
    },
    "nothing between offsets": {
        **ALL,
        "startingOffsets": {"clicks": {"0": 17, "1": 100, "2": 36, "3": 0}},
        "endingOffsets": {"clicks": {"0": 17, "1": 100, "2": 36, "3": 0}},
    },
    "offsets of two topics": {
        "subscribe": "a.clicks,times",
        "startingOffsets": {"a.clicks": {"0": 5, "1": -2}, "times": {"0": 3, "1": 4, "2": -2}},
    },
    "offsets of what is assigned": {"assign": {"clicks": [1]}, "startingOffsets": {"clicks": {"1": 7}}},
    "from a time": {**TIMES, "startingTimestamp": T0 + 3000, "startingOffsetsByTimestampStrategy": "latest"},
    "from a time to another": {
        "assign": {"times": [0, 1]},
        "startingTimestamp": T0 + 200,
        "endingTimestamp": T0 + 1100,
    },
    "to a time": {**TIMES, "endingTimestamp": T0 + 1100},
    "to a time that nothing has": {**TIMES, "endingTimestamp": T0 + 9_000_000},
    "from a time before all": {"assign": {"times": [0, 1]}, "startingTimestamp": 0},
    "times by partition": {
        **TIMES,
        "startingOffsetsByTimestamp": BY_TIME,
        "startingOffsetsByTimestampStrategy": "LATEST",
    },
    "ends by partition": {**TIMES, "endingOffsetsByTimestamp": BY_TIME},
    "times of both ends by partition": {
        "assign": {"times": [0, 1]},
        "startingOffsetsByTimestamp": {"times": {"0": T0 + 1, "1": T0 + 200}},
        "endingOffsetsByTimestamp": {"times": {"0": T0 + 1001, "1": T0 + 700}},
    },
    "a start by time, an end by offset": {
        "assign": {"times": [0, 1]},
        "startingTimestamp": T0 + 200,
        "endingOffsets": {"times": {"0": 20, "1": 48}},
    },
    "a time before times before offsets": {
        "assign": {"times": [0, 1]},
        "startingTimestamp": T0 + 400,
        "startingOffsetsByTimestamp": {"times": {"0": T0, "1": T0}},
        "startingOffsets": {"times": {"0": 1, "1": 1}},
        "endingTimestamp": T0 + 900,
        "endingOffsetsByTimestamp": {"times": {"0": T0, "1": T0}},
        "endingOffsets": "latest",
    },
    "times before offsets": {
        "assign": {"times": [0, 1]},
        "startingOffsetsByTimestamp": {"times": {"0": T0 + 300, "1": T0 + 300}},
        "startingOffsets": "earliest",
    },
    "lost records, taken as they are": {
        "subscribe": "trimmed",
        "startingOffsets": {"trimmed": {"0": 10, "1": 50}},
        "failOnDataLoss": "false",
    },
    "a group's name": {**ALL, "groupIdPrefix": "mine", "kafka.group.id": "everybody's"},
    "the options of a stream": {
        **ALL,
        "maxOffsetsPerTrigger": "10",
        "minOffsetsPerTrigger": "3",
        "maxTriggerDelay": "1s",
    },
    "settings of the consumer": {
        **ALL,
        "kafka.fetch.max.bytes": "1000",
        "kafka.max.partition.fetch.bytes": "500",
        "kafka.max.poll.records": "7",
        "kafka.client.id": "me",
        "kafka.check.crcs": "false",
        "kafka.receive.buffer.bytes": "-1",
        "kafka.isolation.level": "read_committed",
        "kafka.security.protocol": "PLAINTEXT",
        "kafka.who.knows": "what",
    },
    "an option that nobody knows": {**ALL, "whoKnows": "what"},
}

# options that say how many tasks
TASKS = {
    "one for each partition": ALL,
    "fewer than partitions": {**ALL, "minPartitions": "2"},
    "as many as partitions": {**ALL, "minPartitions": "4"},
    "some more": {**ALL, "minPartitions": "6"},
    "many more": {**ALL, "minPartitions": "20"},
    "more than records": {"assign": {"clicks": [2]}, "minPartitions": "50"},
    "of offsets": {
        **ALL,
        "minPartitions": "9",
        "startingOffsets": {"clicks": {"0": 17, "1": -2, "2": 36, "3": 0}},
        "endingOffsets": {"clicks": {"0": 250, "1": 33, "2": -1, "3": -1}},
    },
    "by time": {"assign": {"times": [0, 1]}, "minPartitions": "7", "startingTimestamp": T0 + 400},
    "of compacted partitions": {"subscribe": "compacted", "minPartitions": "5"},
    "an empty topic": {"subscribe": "empty"},
    "at most 1000": {**ALL, "maxRecordsPerPartition": "1000"},
    "both": {**ALL, "maxRecordsPerPartition": "100", "minPartitions": "11"},
}
# options of a batch that the connector takes and forgets -> records of a task
AT_MOST = {
    "at most 50": ({**ALL, "maxRecordsPerPartition": "50"}, 50),
    "at most 7": ({**ALL, "maxRecordsPerPartition": "7"}, 7),
    "both, few": ({**ALL, "maxRecordsPerPartition": "50", "minPartitions": "2"}, 50),
}


@pytest.mark.parametrize("name", READS)
def test_the_same_options_give_the_same_records(pair, name):
    found = compare(lambda side: records(side.read(**READS[name])), pair)
    assert not isinstance(found, Refusal), found
    assert bool(found) == (name not in ("a pattern of nothing", "an empty topic", "nothing between offsets"))


@pytest.mark.parametrize("name", TASKS)
def test_the_same_options_make_the_same_tasks(pair, name):
    found, count = compare(lambda side: tasks(side.read(**TASKS[name])), pair)
    assert len(found) <= count


@pytest.mark.parametrize("name", AT_MOST)
def test_at_most_so_many_records_holds_in_a_batch_too_where_the_connector_forgets_it(pair, name):
    """What docs/spark.md says: the connector obeys it in a stream, and in a batch where minPartitions is more than partitions."""
    options, most = AT_MOST[name]
    assert tasks(pair.sides["kafka"].read(**options)) == tasks(pair.sides["kafka"].read(**ALL))
    found, count = tasks(pair.sides["headrace"].read(**options))
    assert max(records for *_, records in found) <= most
    assert sum(records for *_, records in found) == sum(CLICKS)
    assert count == len(found) + 1, "and one for the empty partition"


def test_a_batch_without_records_has_one_task_where_the_connector_has_none(pair):
    """Spark gives a Python data source without partitions one that reads nothing."""
    options = {"subscribe": "empty", "minPartitions": "5"}
    theirs, ours = (tasks(pair.sides[name].read(**options)) for name in ("kafka", "headrace"))
    assert (theirs, ours) == (([], 0), ([], 1))


def test_columns_and_their_types(pair):
    for options in (ALL, {**ALL, "includeHeaders": "true"}):
        compare(lambda side, options=options: [tuple(one) for one in side.read(**options).dtypes], pair)


def test_a_topic_that_the_broker_stamps(pair):
    """Each broker has its own clock: all but the time is compared, and the time's type."""
    found = compare(lambda side: records(side.read(subscribe="stamped"), without=("timestamp",)), pair)
    assert {row[3] for row in found} == {1}
    assert (
        compare(lambda side: side.read(subscribe="stamped").where("timestamp > now() - INTERVAL 1 HOUR").count(), pair)
        == 80
    )


def test_queries_over_it(pair):
    """What SQL makes of the columns."""

    def sums(side):
        frame = side.read(subscribePattern="clicks")
        frame = frame.groupBy("topic", "partition").agg({"offset": "max", "value": "count", "timestamp": "max"})
        return sorted(plain(tuple(row)) for row in frame.collect())

    def windows(side):
        frame = side.read(**ALL).selectExpr("window(timestamp, '30 seconds').start AS at", "CAST(key AS STRING) AS key")
        return sorted(plain(tuple(row)) for row in frame.groupBy("at", "key").count().collect())

    def joined(side):
        left = side.read(**ALL).selectExpr("key", "offset AS one", "topic")
        right = side.read(subscribe="a.clicks").selectExpr("key", "offset AS other")
        return sorted(plain(tuple(row)) for row in left.join(right, "key").collect())

    def view(side):
        spark = side.spark
        options = f"'kafka.bootstrap.servers' '{side.bootstrap}', 'subscribe' 'clicks'"
        spark.sql(f"CREATE OR REPLACE TEMP VIEW v_{side.format} USING {side.format} OPTIONS ({options})")
        found = spark.sql(
            f"SELECT get_json_object(CAST(value AS STRING), '$.page') AS page, count(*) FROM v_{side.format} GROUP BY page"
        )
        return sorted(tuple(row) for row in found.collect())

    def few(side):
        return (
            side.read(**ALL)
            .where("partition = 1 AND offset BETWEEN 10 AND 12")
            .select("offset")
            .orderBy("offset")
            .collect()
        )

    assert len(compare(sums, pair)) == 5
    assert len(compare(windows, pair)) > 20
    assert len(compare(joined, pair)) > 300
    assert len(compare(view, pair)) == 7
    assert len(compare(few, pair)) == 3
    assert compare(lambda side: side.read(**ALL).count(), pair) == sum(CLICKS)


def test_transactions(pair):
    """Of Apache Kafka alone, by both sources: a node has no coordinator of transactions yet."""
    from dataclasses import replace

    from tests.interop.kafka_log import write_transactions

    kafka = pair.sides["kafka"]
    ours = replace(kafka, format="headrace")
    pair.create("transactions", 1)
    committed = write_transactions(kafka.bootstrap, "transactions")
    for level in ("read_committed", "read_uncommitted"):
        options = {"subscribe": "transactions", "kafka.isolation.level": level}
        found = [records(side.read(**options)) for side in (kafka, ours)]
        assert found[0] == found[1]
        assert ([row[6] for row in found[0]] == committed) == (level == "read_committed")


def test_apache_kafka_is_read_by_both(pair):
    """Our source against the peer's broker."""
    from dataclasses import replace

    ours = replace(pair.sides["kafka"], format="headrace")
    for name in ("headers", "odd records", "compacted", "from a time", "trimmed", "stamped"):
        options = READS.get(name, {"subscribe": name})
        assert records(ours.read(**options)) == records(pair.sides["kafka"].read(**options)), name
