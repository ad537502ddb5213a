"""A short campaign of kills of a loader; `make load-chaos` runs a long one."""

import pytest

from tests.chaos.load_campaign import LoadCampaign

pytestmark = pytest.mark.process

KILLS = 8


@pytest.mark.timeout(600)
def test_a_loader_that_is_killed_with_its_workers_and_its_node_loads_each_record_once(tmp_path):
    verdict = LoadCampaign(tmp_path, "parquet", seed=13, kills=KILLS).run()
    print(verdict.summary())
    assert verdict.faults(KILLS) == []
