"""A failing run made shorter: faults are dropped while it still fails with an anomaly of the same kind."""

from tests.simulation.campaign import run_seed

RUNS_MAX = 200


def shrink(seed, outcome, options):
    """The faults that are left. Whole runs of them are dropped first, then single ones."""
    kind = kind_of(outcome.anomalies[0])
    plan, size, runs = list(outcome.plan), max(1, len(outcome.plan) // 2), 0
    while size:
        start = 0
        while start < len(plan) and runs < RUNS_MAX:
            shorter = plan[:start] + plan[start + size :]
            runs += 1
            again = run_seed(seed, plan=shorter, **options)
            if again.anomalies and kind_of(again.anomalies[0]) == kind:
                plan = shorter
            else:
                start += size
        size //= 2
    return plan


def kind_of(anomaly):
    """Its first words, without the time."""
    words = anomaly.split()[1:]
    return words[1] if "/" in words[0] else words[0]
