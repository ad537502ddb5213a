"""python -m tests.simulation: seeds, one after the other.

--seeds 1000 [--first 1]      until one fails, or all passed; one line for each
--seed 7 --trace              one run and its story
--seed 7 --shrink             the shortest plan of faults with which that seed fails
"""

from tests.support import pure_form  # isort: skip  # noqa: F401 - before anything of headrace

import argparse
import sys

from tests.simulation.campaign import FAULTS, SPAN_MS, run_seed
from tests.simulation.shrinking import shrink


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="one run")
    parser.add_argument("--trace", action="store_true", help="print its story")
    parser.add_argument("--shrink", action="store_true", help="drop faults while it still fails")
    parser.add_argument("--seeds", type=int, default=100, help="how many runs")
    parser.add_argument("--first", type=int, default=1, help="seed of the first")
    parser.add_argument("--faults", type=int, default=FAULTS, help="of each run")
    parser.add_argument("--span", type=int, default=SPAN_MS, help="ms of simulated time with faults")
    parser.add_argument("--keep-on", action="store_true", help="go on after a seed that fails")
    given = parser.parse_args()
    options = {"faults": given.faults, "span_ms": given.span}
    if given.seed is not None:
        return one(given, options)
    failed, steps, simulated_s, real_s, faults = [], 0, 0.0, 0.0, 0
    for seed in range(given.first, given.first + given.seeds):
        outcome = run_seed(seed, **options)
        steps += outcome.steps
        simulated_s += outcome.simulated_s
        real_s += outcome.real_s
        faults += sum(outcome.faults.values())
        show(outcome)
        if outcome.anomalies:
            failed.append(seed)
            if not given.keep_on:
                break
    print(
        f"faults={faults} steps={steps} simulated_s={simulated_s:.0f} real_s={real_s:.0f} steps/s={steps / real_s:.0f}"
        f" simulated_s/s={simulated_s / real_s:.1f} failed={failed or 'none'}"
    )
    return 1 if failed else 0


def one(given, options):
    outcome = run_seed(given.seed, keep=given.trace, **options)
    if given.trace:
        print("\n".join(outcome.lines))
    show(outcome)
    if given.shrink and outcome.anomalies:
        for fault in shrink(given.seed, outcome, options):
            print(fault)
    return 1 if outcome.anomalies else 0


def show(outcome):
    print(
        f"seed={outcome.seed} trace={outcome.fingerprint} steps={outcome.steps} simulated_s={outcome.simulated_s:.1f}"
        f" real_s={outcome.real_s:.1f} faults={sum(outcome.faults.values())} {outcome.counts}",
        flush=True,
    )
    for anomaly in outcome.anomalies:
        print(f"  {anomaly}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
