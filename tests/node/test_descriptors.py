"""RLIMIT_NOFILE against what the settings may come to."""

import resource

import pytest

from headrace.limits import DESCRIPTORS_PER_LOG, DESCRIPTORS_PER_SEGMENT, OPEN_SEGMENTS_MAX
from headrace.log.config import LogConfig
from headrace.node import descriptors
from headrace.node.descriptors import prepare_descriptors, wanted_descriptors
from headrace.protocol.record_batch import TRANSACTIONAL_BIT
from headrace.settings import Settings
from tests.support.descriptors import held_below
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker, batch


class Limit:
    """RLIMIT_NOFILE of a process that is not ours."""

    RLIMIT_NOFILE = resource.RLIMIT_NOFILE

    def __init__(self, soft, hard):
        self.now = (soft, hard)

    def getrlimit(self, _which):
        return self.now

    def setrlimit(self, _which, limits):
        self.now = limits


@pytest.fixture
def limit(monkeypatch):
    def put(soft, hard):
        limit = Limit(soft, hard)
        monkeypatch.setattr(descriptors, "resource", limit)
        return limit

    return put


def settings(**more):
    return Settings({"headrace.network.workers": "2", "headrace.partition.workers": "2", **more})


def test_what_is_wanted_follows_the_settings():
    few = wanted_descriptors(settings(**{"max.connections": "100", "headrace.partitions.max": "16"}))
    many = wanted_descriptors(settings(**{"max.connections": "20100", "headrace.partitions.max": "20016"}))
    assert many["network worker"] - few["network worker"] == 20_000
    assert many["partition worker"] - few["partition worker"] >= 4 * 10_000
    assert min(few.values()) > DESCRIPTORS_PER_SEGMENT * OPEN_SEGMENTS_MAX


def test_a_log_holds_no_more_than_is_counted_and_one_is_left_for_its_roll(tmp_path):
    """With an aborted transaction it has a fourth file."""
    maker = LogMaker(tmp_path)
    log = maker.open(LogConfig(index_interval_bytes=10))
    log.append_as_leader([batch(), batch(), batch()], 0, NOW_MS)
    one = batch(producer_id=1, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    log.append_as_leader([one], 0, NOW_MS)
    log.append_marker(1, 0, 0, True, 0, NOW_MS)
    assert held_below(log.directory) == DESCRIPTORS_PER_LOG - 1
    log.abandon()


def test_a_low_soft_limit_is_raised(limit, caplog):
    found = limit(1024, 1 << 20)
    assert prepare_descriptors(settings()) == 1 << 20
    assert found.now == (1 << 20, 1 << 20)
    assert not caplog.records


def test_a_soft_limit_that_does_is_left_alone(limit, caplog):
    found = limit(1 << 19, 1 << 20)
    assert prepare_descriptors(settings()) == 1 << 19
    assert found.now == (1 << 19, 1 << 20)
    assert not caplog.records


def test_a_low_hard_limit_is_named_with_what_to_do(limit, caplog):
    limit(1024, 4096)
    assert prepare_descriptors(settings()) == 4096
    network, partition = (record.getMessage() for record in caplog.records)
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert "limit=4096" in network
    assert "max.connections" in network
    assert "headrace.partitions.max" in partition


def test_a_limit_that_does_for_thousands_of_partitions_is_no_warning(limit, caplog):
    limit(20_000, 20_000)
    with caplog.at_level("INFO"):
        prepare_descriptors(settings())
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_a_partition_worker_has_rings_with_every_other_process():
    few, many = (
        wanted_descriptors(
            settings(**{"headrace.partition.workers": str(count), "headrace.partitions.max": str(16 * count)})
        )
        for count in (2, 64)
    )
    assert many["partition worker"] - few["partition worker"] >= 2 * 62
