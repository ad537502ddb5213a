"""A query's progress names the source and says how far behind it is, as the connector's does."""

import json
from types import SimpleNamespace

import pytest
from pyspark.sql.streaming import StreamingQueryListener

from headrace.ids import TopicPartition
from headrace.spark.query_progress import PYTHON_SOURCE, behind_latest, progress
from tests.support.waiting import wait_until

A0, A1 = TopicPartition("clicks", 0), TopicPartition("clicks", 1)
DEADLINE_S = 300


class Listener(StreamingQueryListener):
    def __init__(self):
        self.heard = []

    def onQueryStarted(self, event): ...

    def onQueryProgress(self, event):
        self.heard.append(progress(event.progress))

    def onQueryTerminated(self, event): ...


def test_a_limited_query_says_how_far_behind_it_is(spark, log, broker, tmp_path):
    log.append(A0, [(None, b"x")] * 100)
    log.append(A1, [(None, b"x")] * 20)
    listener = Listener()
    spark.streams.addListener(listener)
    reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", broker.address)
    frame = reader.options(subscribe="clicks", startingOffsets="earliest", maxOffsetsPerTrigger="60").load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    try:
        query.processAllAvailable()
        wait_until(lambda: progress(query)["sources"][0]["metrics"]["maxOffsetsBehindLatest"] == "0", "not at the end")
        first = next(one for one in query.recentProgress if one.batchId == 0)
        wait_until(lambda: any(one["batchId"] == 0 for one in listener.heard), "no event")
    finally:
        query.stop()
        spark.streams.removeListener(listener)
    for one in (progress(first), next(one for one in listener.heard if one["batchId"] == 0)):
        (source,) = one["sources"]
        assert source["description"] == "headrace[clicks]"
        assert source["metrics"] == {
            "avgOffsetsBehindLatest": "30.0", "maxOffsetsBehindLatest": "50", "minOffsetsBehindLatest": "10",
        }  # fmt: skip
        assert source["numInputRows"] == 60
    last = progress(query)["sources"][0]
    assert (last["description"], last["metrics"]["avgOffsetsBehindLatest"]) == ("headrace[clicks]", "0.0")


def test_what_is_new_counts_from_its_beginning_and_what_went_back_is_not_behind():
    metrics = behind_latest({A0: 10, A1: 50}, {A0: 15, A1: 40, TopicPartition("clicks", 2): 7})
    assert metrics == {
        "avgOffsetsBehindLatest": "4.0", "maxOffsetsBehindLatest": "7", "minOffsetsBehindLatest": "0",
    }  # fmt: skip
    assert behind_latest({A0: 10}, {}) == {}


@pytest.mark.parametrize("as_text", [False, True])
def test_a_progress_as_a_dict_and_as_the_jvm_has_it(as_text):
    def held(offsets):
        return json.dumps(offsets) if as_text else offsets

    epochs = {'leader epochs {"clicks": {"0": 1}}': {}}
    ours = {
        "description": f"org.apache.spark.{PYTHON_SOURCE}@2b11c80", "endOffset": held({"clicks": {"0": 5}, **epochs}),
        "latestOffset": held({"clicks": {"0": 9}}), "metrics": None,
    }  # fmt: skip
    others = [
        {"description": "KafkaV2[Subscribe[a]]", "endOffset": held({"a": {"0": 5}}), "metrics": {"x": "1"}},
        {"description": PYTHON_SOURCE, "endOffset": held({"offset": 3}), "latestOffset": held({"offset": 3})},
        {"description": PYTHON_SOURCE, "endOffset": None},
    ]
    given = {"batchId": 3, "sources": [ours, *others]}
    for of in (given, SimpleNamespace(lastProgress=given), SimpleNamespace(sources=1, json=json.dumps(given))):
        found = progress(of)
        assert found["batchId"] == 3
        assert found["sources"][1:] == others
        assert found["sources"][0]["description"] == "headrace[clicks]"
        assert found["sources"][0]["metrics"]["maxOffsetsBehindLatest"] == "4"
    assert "headrace" not in json.dumps(given), "what was given stays"


def test_a_query_without_progress_has_none_and_other_things_are_refused():
    assert progress(SimpleNamespace(lastProgress=None)) is None
    with pytest.raises(ValueError, match="takes a StreamingQuery or its progress, not 'q'"):
        progress("q")
