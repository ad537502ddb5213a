"""python -m tests.model: the search of the transaction coordinator's tables.

--bounds small|medium|large   its scenarios, one line for each
--variants                    other rules for late requests, and which of them let one through
--holes                       faults that are known: the shortest story of each
--mutants                     the tables with one thing taken out, and which of them is found
--only TEXT                   those whose name has it
--stories                     print the story of each violation
"""

from tests.support import pure_form  # isort: skip  # noqa: F401 - before anything of headrace

import argparse
import sys
import time

from tests.model.mutants import MUTANTS
from tests.model.scenarios import BOUNDS, HOLES, SMALL
from tests.model.search import search
from tests.model.variants import VARIANTS
from tests.model.world import World


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__.splitlines()[0])
    parser.add_argument("--bounds", choices=BOUNDS, default="small")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--holes", action="store_true")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--stories", action="store_true")
    parser.add_argument("--states", type=int, default=3_000_000, help="of one search, at most")
    given = parser.parse_args()
    begun = time.perf_counter()
    if given.variants:
        wrong = run_variants(given)
    elif given.holes:
        wrong = run_holes(given)
    elif given.mutants:
        wrong = run_mutants(given)
    else:
        wrong = run_scenarios(given)
    print(f"seconds={time.perf_counter() - begun:.0f} wrong={', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def run_scenarios(given):
    wrong, states, transitions = [], 0, 0
    for scenario in BOUNDS[given.bounds]:
        if given.only not in scenario.name:
            continue
        found = search(World(scenario), given.states)
        show(scenario.name, found, is_told=True)
        states += found.states
        transitions += found.transitions
        if found.violation or not found.is_whole:
            wrong.append(scenario.name)
    print(f"bounds={given.bounds} states={states} transitions={transitions}")
    return wrong


def run_variants(given):
    wrong = []
    for variant in VARIANTS:
        if given.only not in variant.name:
            continue
        with variant.patch():
            found = search(World(variant.scenario, variant.uses_floor), given.states)
        show(variant.name, found, is_told=given.stories)
        if (found.violation is None) != variant.is_sound or not found.is_whole:
            wrong.append(variant.name)
    return wrong


def run_holes(given):
    """A hole that is found no more is mended: its scenario can go to the others."""
    wrong = []
    for scenario in HOLES:
        if given.only not in scenario.name:
            continue
        found = search(World(scenario), given.states)
        show(scenario.name, found, is_told=True)
        if found.violation is None:
            wrong.append(scenario.name)
    return wrong


def run_mutants(given):
    wrong, caught = [], 0
    for mutant in MUTANTS:
        if given.only not in mutant.name:
            continue
        scenarios = (mutant.found_in,) if mutant.found_in is not None else SMALL
        with mutant.patch():
            for scenario in scenarios:
                found = search(World(scenario), given.states)
                if found.violation:
                    break
        caught += found.violation is not None
        print(
            f"{'found' if found.violation else 'not found':9} {mutant.name}: {found.violation or mutant.why}",
            flush=True,
        )
        if given.stories:
            tell(found)
        if (found.violation is None) != (mutant.found_in is None):
            wrong.append(mutant.name)
    print(f"mutants={len(MUTANTS)} found={caught}")
    return wrong


def show(name, found, is_told):
    print(
        f"{name}: states={found.states} transitions={found.transitions} depth={found.depth} ends={found.ends}"
        f" seconds={found.seconds:.1f}{'' if found.is_whole else ' NOT WHOLE'} {found.violation or 'no violation'}",
        flush=True,
    )
    if is_told:
        tell(found)


def tell(found):
    if found.violation:
        for number, line in enumerate(found.story, 1):
            print(f"  {number:3} {line}")
        print(f"      {found.violation}")


if __name__ == "__main__":
    sys.exit(main())
