"""DeleteRecords is done when no replica that lives has the records any more, or its time is over."""

import pytest

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from tests.support.seats import PARTITION
from tests.workers.partition.replication.led_cluster import NODE, SECOND, THIRD

TIMEOUT_MS = 500
NOT_YET = []


def written(cluster, count=3):
    for number in range(count):
        cluster.produce(number, acks=1)
    for follower in (SECOND, THIRD):
        cluster.fetch(follower, count)
    assert cluster.mark == count


def delete(cluster, offset=2, timeout_ms=TIMEOUT_MS):
    request = messages.DeleteRecordsRequest
    wanted = request.DeleteRecordsPartition(partition_index=cluster.own, offset=offset)
    message = request(topics=[request.DeleteRecordsTopic(name="t", partitions=[wanted])], timeout_ms=timeout_ms)
    assert cluster.network.ask(
        PARTITION, ApiKey.DELETE_RECORDS, encode_request(ApiKey.DELETE_RECORDS, 1, message), version=1
    )
    cluster.turn()


def answers(cluster):
    replies, cluster.network.replies = cluster.network.replies, []
    found = []
    for _status, body in replies:
        rows = decode_response(ApiKey.DELETE_RECORDS, 1, memoryview(body)).topics[0].partitions
        found += [(ErrorCode(row.error_code).name, row.low_watermark) for row in rows]
    return found


def test_it_is_answered_when_all_followers_have_deleted_too(cluster):
    written(cluster)
    delete(cluster)
    assert cluster.replica.log.log_start_offset == 2
    assert answers(cluster) == NOT_YET
    cluster.fetch(SECOND, 3, log_start=2)
    assert answers(cluster) == NOT_YET
    cluster.fetch(THIRD, 3, log_start=1)
    assert answers(cluster) == NOT_YET
    cluster.fetch(THIRD, 3, log_start=2)
    cluster.turn()
    assert answers(cluster) == [("NONE", 2)]
    assert not cluster.worker._deletions.waiting


def test_it_waits_for_no_broker_that_is_away(cluster):
    written(cluster)
    delete(cluster)
    cluster.fetch(SECOND, 3, log_start=2)
    assert answers(cluster) == NOT_YET
    del cluster.live[THIRD]
    cluster.publish()
    cluster.turn()
    assert answers(cluster) == [("NONE", 2)]


@pytest.mark.parametrize("timeout_ms", [TIMEOUT_MS, 0, -1])
def test_it_says_that_its_time_is_over(cluster, timeout_ms):
    written(cluster)
    delete(cluster, timeout_ms=timeout_ms)
    cluster.wait(max(timeout_ms, 0) + 50)
    cluster.wait(50)
    assert answers(cluster) == [("REQUEST_TIMED_OUT", -1)]
    cluster.fetch(SECOND, 3, log_start=2)
    cluster.fetch(THIRD, 3, log_start=2)
    assert not cluster.worker._deletions.waiting


def test_who_leads_no_more_says_so(cluster):
    written(cluster)
    delete(cluster)
    cluster.publish(epoch=1, leader=SECOND)
    cluster.turn()
    assert answers(cluster) == [("NOT_LEADER_OR_FOLLOWER", -1)]


def test_beyond_the_mark_nothing_is_deleted(cluster):
    cluster.produce(acks=1)
    delete(cluster, 1)
    assert answers(cluster) == [("OFFSET_OUT_OF_RANGE", -1)]
    assert cluster.replica.log.log_start_offset == 0


def test_alone_it_is_answered_at_once(cluster):
    cluster.publish(isr=(NODE,), replicas=(NODE,))
    cluster.turn()
    cluster.produce()
    delete(cluster, 1)
    assert answers(cluster) == [("NONE", 1)]


def test_too_many_are_timed_out_at_once(cluster, monkeypatch):
    monkeypatch.setattr("headrace.workers.partition.replication.record_deletions.RECORD_DELETIONS_MAX", 2)
    written(cluster)
    for _ in range(3):
        delete(cluster)
    assert answers(cluster) == [("REQUEST_TIMED_OUT", -1)]
