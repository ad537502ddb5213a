"""Mends taken out, by turns: each has to be noticed by a seed, and this says by which and how soon.

    python -m tests.simulation.mutants [--only NAME] [--seeds 40]

A mutant replaces one name of headrace while seeds run, until one of them fails.
"""

from tests.support import pure_form  # isort: skip  # noqa: F401 - before anything of headrace

import argparse
import sys
import time
from contextlib import contextmanager

from headrace.workers.partition.replication.followers import Followers
from tests.simulation.campaign import run_seed


@contextmanager
def replaced(owner, name, value):
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def early_mark():
    """The high watermark does not wait for followers."""
    return replaced(Followers, "committed", lambda self, end_offset: end_offset)


MUTANTS = {"early_mark": early_mark}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=MUTANTS, help="one of them")
    parser.add_argument("--seeds", type=int, default=40, help="at most, for each")
    parser.add_argument("--first", type=int, default=1, help="seed of the first")
    given = parser.parse_args()
    survived = []
    for name, mutant in MUTANTS.items():
        if given.only not in (None, name):
            continue
        begun = time.perf_counter()
        for seed in range(given.first, given.first + given.seeds):
            with mutant():
                outcome = run_seed(seed)
            if outcome.anomalies:
                print(
                    f"{name}: seed {seed} after {time.perf_counter() - begun:.0f} s: {outcome.anomalies[0][:200]}",
                    flush=True,
                )
                break
        else:
            survived.append(name)
            print(f"{name}: no seed of {given.seeds} noticed, {time.perf_counter() - begun:.0f} s", flush=True)
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
