"""Where a group shall begin: offsets for times, and an error that names the partition without that offset."""

import pytest

from headrace.cli.offset_reset import check_range, start_offsets
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.record_batch import Record
from tests.support.file_log_fixtures import broker, log

__all__ = ["broker", "log"]

CLICKS = [TopicPartition("clicks", partition) for partition in range(3)]


@pytest.fixture
def cluster(log, broker):
    for name in CLICKS:
        for first in range(0, 100, 10):
            log.append(name, [Record(index, 1_000 + first + index, None, b"v", ()) for index in range(10)])
    with Cluster(broker.address, timeout_s=30) as cluster:
        yield cluster


def test_offsets_for_times(cluster):
    wanted = {CLICKS[0]: 1_050, CLICKS[1]: EARLIEST, CLICKS[2]: 9_999_999}
    assert start_offsets(cluster, wanted) == {CLICKS[0]: 50, CLICKS[1]: 0, CLICKS[2]: 100}
    assert start_offsets(cluster, dict.fromkeys(CLICKS, LATEST)) == dict.fromkeys(CLICKS, 100)


def test_offsets_that_a_partition_does_not_have_are_named(cluster):
    check_range(cluster, {CLICKS[0]: 0, CLICKS[1]: 100})
    with pytest.raises(
        KafkaError, match="offset 101 of clicks-1 is out of range: valid offsets are 0 to 100"
    ) as failure:
        check_range(cluster, {CLICKS[0]: 0, CLICKS[1]: 101})
    assert failure.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
