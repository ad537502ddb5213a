"""A few kills of the mirror's campaign, so that the campaign itself works; `make mirror-chaos` has the many."""

import pytest

from tests.chaos.mirror_campaign import Campaign

pytestmark = pytest.mark.process

SEED = 11
KILLS = 6


@pytest.mark.timeout(280)
@pytest.mark.parametrize("target_partitions", [0, 6])
def test_a_short_campaign_finds_nothing(tmp_path, target_partitions):
    campaign = Campaign(tmp_path, SEED, target_partitions)
    assert campaign.run(KILLS) == []
    assert sum(campaign.done.values()) == KILLS
