"""A micro-batch is under way from its offsets to its commit, as the checkpoint has them."""

import pytest

from headrace.client.cluster import Cluster
from tests.chaos.sink_watch import SinkWatch


@pytest.fixture
def watch(tmp_path):
    return SinkWatch(Cluster("127.0.0.1:1"), "out", tmp_path, 60.0)


def test_a_micro_batch_is_under_way_until_it_is_committed(watch, tmp_path):
    assert watch.under_way() is None
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    assert watch.under_way() is None
    for number in range(12):  # 9 sorts after 10
        (tmp_path / "offsets" / str(number)).touch()
        (tmp_path / "offsets" / f".{number}.crc").touch()
        assert watch.under_way() == number
        (tmp_path / "commits" / str(number)).touch()
        assert watch.under_way() is None


def test_of_a_query_that_has_ended_nothing_is_waited_for(watch):
    assert watch.wait_written(1, lambda: False) is None
