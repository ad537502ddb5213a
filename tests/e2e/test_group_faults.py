"""Coordinators that die under commits and rebalances: a short campaign in every run; `make chaos` has the long one."""

from tests.chaos import group_campaign
from tests.support.waiting import DEADLINE_S


def test_kills_of_coordinators_lose_no_commit(tmp_path):
    verdict = group_campaign.run_group_campaign(
        tmp_path, kills=20, seed=20261121, pause_s=0.3, quiet=True, stand_still_s=DEADLINE_S
    )
    print(verdict.summary())
    assert not verdict.faults(kills_wanted=16, commits_wanted=500)


def test_the_judge_sees_a_commit_that_went_back():
    verdict = group_campaign.GroupVerdict(seed=0)
    ledger = group_campaign.Ledger(verdict)
    ledger.acknowledged(group_campaign.GROUP, 0, 5)
    ledger.acknowledged(group_campaign.GROUP, 0, 4)
    ledger.read("other", 1, 2, floor=3)
    assert len(verdict.went_back) == 2
    assert verdict.faults(0, 0)
