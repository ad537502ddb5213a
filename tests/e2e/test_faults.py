"""Processes that die under load: a short campaign in every run; `make chaos` has the long one."""

import campaign


def test_kills_of_every_role_lose_nothing_acknowledged(tmp_path):
    verdict = campaign.run_campaign(tmp_path, kills=25, seed=20261121, pause_s=0.3, quiet=True)
    print(verdict.summary())
    assert not verdict.faults(kills_wanted=20, acknowledged_wanted=1_000)


def test_the_judge_sees_a_lost_a_doubled_and_a_wrong_record():
    class FakeLoad:
        name = "idem"
        idempotent = True
        unknown = frozenset()
        acknowledged = {"idem-1": (0, 0), "idem-2": (0, 1), "idem-3": (0, 1)}  # noqa: RUF012

    verdict = campaign.Verdict(seed=0)
    campaign.judge(verdict, [FakeLoad()], {(0, 1): "idem-2", (0, 2): "idem-2"})
    assert len(verdict.lost) == 2
    assert len(verdict.duplicates) == 1
    assert len(verdict.inconsistent) == 1
