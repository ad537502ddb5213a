"""An incremental Fetch written by hand is what the codec writes, byte by byte."""

import pytest

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import inter_broker
from headrace.protocol.codec import encode_request
from headrace.workers.partition.replication.fetch_changes import build_changes
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetch_session import Subject, Wish

Request = messages.FetchRequest
OPTIONS = FetchOptions(7, inter_broker("3.9"), wait_max_ms=1, min_bytes=2, partition_bytes_max=3, response_bytes_max=4)


def subject(topic, index, **asked):
    one = Subject(topic, topic.encode() * 16, index)
    one.asked = Wish(
        **{"leader_epoch": 1, "fetch_offset": 1 << 40, "last_fetched_epoch": -1, "log_start_offset": 0} | asked
    )
    return one


def by_codec(version, broker_epoch, session, subjects):
    topics = {}
    for one in subjects:
        row = Request.FetchPartition(
            partition=one.index,
            current_leader_epoch=one.asked.leader_epoch,
            fetch_offset=one.asked.fetch_offset,
            last_fetched_epoch=one.asked.last_fetched_epoch,
            log_start_offset=one.asked.log_start_offset,
            partition_max_bytes=one.asked.bytes_max or OPTIONS.partition_bytes_max,
        )
        topics.setdefault(one.topic_id, []).append(row)
    request = Request(
        replica_id=OPTIONS.node_id,
        replica_state=Request.ReplicaState(replica_id=OPTIONS.node_id, replica_epoch=broker_epoch),
        max_wait_ms=OPTIONS.wait_max_ms,
        min_bytes=OPTIONS.min_bytes,
        max_bytes=OPTIONS.response_bytes_max,
        session_id=session[0],
        session_epoch=session[1],
        topics=[Request.FetchTopic(topic_id=topic_id, partitions=rows) for topic_id, rows in topics.items()],
    )
    return encode_request(ApiKey.FETCH, version, request)


@pytest.mark.parametrize("version", range(13, 18))
@pytest.mark.parametrize(
    "subjects",
    [
        [],
        [subject("a", 0)],
        [subject("a", 5, last_fetched_epoch=9), subject("b", 0, log_start_offset=1 << 50), subject("a", 1)],
        [subject("c", index, fetch_offset=index) for index in range(1000)],
        [
            subject("a", 0, bytes_max=70, log_start_offset=-1),
            subject("a", 1),
            subject("b", 2, bytes_max=1 << 20),
            subject("b", 3),
        ],
    ],
    ids=len,
)
def test_it_is_what_the_codec_writes(version, subjects):
    made = build_changes(version, OPTIONS, 1 << 33, (123456, 2**31 - 1), subjects)
    assert made == bytes(by_codec(version, 1 << 33, (123456, 2**31 - 1), subjects))
