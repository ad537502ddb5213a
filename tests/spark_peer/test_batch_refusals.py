"""Batches: what the connector refuses, we refuse alike, at the latest when the rows are asked for."""

import pytest

from tests.spark_peer.outcomes import both_refuse, records
from tests.spark_peer.topics import T0

pytestmark = pytest.mark.interop

ALL = {"subscribe": "clicks"}

REFUSED = {
    "two strategies": {"subscribe": "clicks", "assign": {"clicks": [0]}},
    "a pattern and a name": {"subscribe": "clicks", "subscribePattern": "clicks"},
    "no topic": {"subscribe": " , "},
    "an empty pattern": {"subscribePattern": " "},
    "not a pattern": {"subscribePattern": "(clicks"},
    "assigned, not JSON": {"assign": "clicks"},
    "assigned, bad JSON": {"assign": "{clicks"},
    "assigned, no list": {"assign": {"clicks": 0}},
    "assigned by name": {"assign": {"clicks": ["x"]}},
    "no such topic": {"subscribe": "nowhere"},
    "one of two topics is not there": {"subscribe": "clicks,nowhere"},
    "starting at latest": {**ALL, "startingOffsets": "latest"},
    "ending at earliest": {**ALL, "endingOffsets": "earliest"},
    "starting at -1": {**ALL, "startingOffsets": {"clicks": {"0": -1, "1": -2, "2": -2, "3": -2}}},
    "ending at -2": {**ALL, "endingOffsets": {"clicks": {"0": -2, "1": -1, "2": -1, "3": -1}}},
    "starting at no offset": {**ALL, "startingOffsets": {"clicks": {"0": -7, "1": -2, "2": -2, "3": -2}}},
    "a partition forgotten": {**ALL, "startingOffsets": {"clicks": {"0": 1, "1": 1, "2": 1}}},
    "a partition too many": {**ALL, "startingOffsets": {"clicks": {"0": 1, "1": 1, "2": 1, "3": -2, "4": 0}}},
    "an end forgotten": {**ALL, "endingOffsets": {"clicks": {"0": 1, "1": 1, "2": 1}}},
    "offsets of another topic": {**ALL, "startingOffsets": {"a.clicks": {"0": 1, "1": 1}}},
    "offsets, not JSON": {**ALL, "startingOffsets": "soon"},
    "offsets, a list": {**ALL, "startingOffsets": "[1, 2]"},
    "offsets by name": {**ALL, "startingOffsets": '{"clicks": {"x": 1}}'},
    "offsets, a number": {**ALL, "startingOffsets": '{"clicks": 1}'},
    "offsets, words": {**ALL, "startingOffsets": '{"clicks": {"0": "x", "1": 1, "2": 1, "3": 0}}'},
    "a start after the end": {
        **ALL,
        "startingOffsets": {"clicks": {"0": 100, "1": -2, "2": -2, "3": -2}},
        "endingOffsets": {"clicks": {"0": 99, "1": -1, "2": -1, "3": -1}},
    },
    "other partitions at the end": {
        **ALL,
        "startingOffsets": {"clicks": {"0": 100, "1": -2, "2": -2, "3": -2}},
        "endingOffsets": {"clicks": {"0": 200, "1": -1, "2": -1}},
    },
    "times in the wrong order": {
        **ALL,
        "startingOffsetsByTimestamp": {"clicks": {"0": T0 + 9, "1": T0, "2": T0, "3": T0}},
        "endingOffsetsByTimestamp": {"clicks": {"0": T0 + 8, "1": T0 + 9, "2": T0 + 9, "3": T0 + 9}},
    },
    "a start before the log": {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 10, "1": 0}}},
    "a start beyond the log": {"subscribe": "trimmed", "startingOffsets": {"trimmed": {"0": 200, "1": 0}}},
    "an end beyond the log": {"subscribe": "trimmed", "endingOffsets": {"trimmed": {"0": 200, "1": 0}}},
    "no record so late": {"subscribe": "times", "startingTimestamp": T0 + 9_000_000},
    "no record so late in one partition": {
        "assign": {"times": [0, 1]},
        "startingOffsetsByTimestamp": {"times": {"0": T0, "1": T0 + 9_000_000}},
    },
    "a time that is none": {**ALL, "startingTimestamp": "yesterday"},
    "an end that is none": {**ALL, "endingTimestamp": "tomorrow"},
    "times, not JSON": {**ALL, "startingOffsetsByTimestamp": "yesterday"},
    "a partition's time forgotten": {"subscribe": "times", "startingOffsetsByTimestamp": {"times": {"0": T0, "1": T0}}},
    "another strategy": {**ALL, "startingTimestamp": T0, "startingOffsetsByTimestampStrategy": "earliest"},
    "no tasks": {**ALL, "minPartitions": "0"},
    "minus tasks": {**ALL, "minPartitions": "-3"},
    "tasks, a word": {**ALL, "minPartitions": "many"},
    "no records": {**ALL, "maxRecordsPerPartition": "0"},
    "records, a word": {**ALL, "maxRecordsPerPartition": "few"},
    "a loss that may be": {**ALL, "failOnDataLoss": "perhaps"},
    "headers, perhaps": {**ALL, "includeHeaders": "perhaps"},
    "retries, a word": {**ALL, "fetchOffset.numRetries": "x"},
    "an interval, a word": {**ALL, "fetchOffset.retryIntervalMs": "x"},
    "a timeout, a word": {**ALL, "kafkaConsumer.pollTimeoutMs": "x"},
    "more at least than at most": {**ALL, "minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "10"},
    "no server": {**ALL, "kafka.bootstrap.servers": None},
    "a server that is none": {**ALL, "kafka.bootstrap.servers": "here"},
    "offsets reset": {**ALL, "kafka.auto.offset.reset": "earliest"},
    "a deserializer of keys": {**ALL, "kafka.key.deserializer": "x"},
    "a deserializer of values": {**ALL, "kafka.value.deserializer": "x"},
    "commits": {**ALL, "kafka.enable.auto.commit": "true"},
    "interceptors": {**ALL, "kafka.interceptor.classes": "x"},
    "bytes, a word": {**ALL, "kafka.fetch.max.bytes": "abc"},
    "minus bytes": {**ALL, "kafka.fetch.min.bytes": "-1"},
    "another isolation": {**ALL, "kafka.isolation.level": "serializable"},
    "isolation in capitals": {**ALL, "kafka.isolation.level": "READ_COMMITTED"},
    "checksums, perhaps": {**ALL, "kafka.check.crcs": "perhaps"},
    "another protocol": {**ALL, "kafka.security.protocol": "GSSAPI"},
    "a time that overflows": {"subscribe": "late"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(pair, name):
    both_refuse(lambda side: records(side.read(**REFUSED[name])), pair)


def test_neither_reads_nothing(pair):
    """Without a strategy."""

    def program(side):
        return side.spark.read.format(side.format).option("kafka.bootstrap.servers", side.bootstrap).load().collect()

    both_refuse(program, pair)
