"""A short campaign of kills of a query with an exactly-once sink; `make sink-chaos` runs a long one."""

import pytest

from tests.chaos.sink_campaign import SinkCampaign

KILLS = 4


@pytest.mark.timeout(600)
def test_a_query_that_is_killed_with_its_workers_and_its_node_stores_each_row_once(tmp_path):
    verdict = SinkCampaign(tmp_path, seed=9, kills=KILLS).run()
    print(verdict.summary())  # workers, and one that wakes up beside its successor, all in mid-write
    assert verdict.faults(KILLS) == []
