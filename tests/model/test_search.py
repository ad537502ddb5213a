"""Every state of the small scenarios, with the real tables: `python -m tests.model --bounds medium` goes on."""

from dataclasses import replace

import pytest

from tests.model.scenarios import HOLES, SMALL
from tests.model.search import search
from tests.model.variants import VARIANTS
from tests.model.world import World

# With as many faults as `--bounds small` they have some 50,000 states each
CUT = {"late requests, coordinator A-B-A", "late requests, reloads in place", "no ApiVersions"}
ORDINARY = [replace(one, timeouts=1) if one.name in CUT else one for one in SMALL]
LONG = {"built", "built, no ApiVersions", "built, strict", "Ongoing's floor, coordinator A-B-A"}
LEAST = {
    "late requests": 1_500,
    "two producers": 8_000,
    "markers": 1_000,
    "timeout": 8_500,
}  # states: fewer miss something


def told(found):
    return "\n".join([*found.story, found.violation or ""])


@pytest.mark.parametrize("scenario", [pytest.param(one, id=one.name) for one in ORDINARY])
def test_nothing_that_a_scenario_has_breaks_an_invariant(scenario):
    found = search(World(scenario))
    assert found.violation is None, told(found)
    assert found.is_whole
    assert found.ends
    assert found.states >= LEAST.get(scenario.name, 0)


@pytest.mark.parametrize(
    "variant",
    [pytest.param(one, id=one.name) for one in VARIANTS if one.name not in LONG],
)
def test_a_rule_that_lets_a_late_request_through_is_found(variant):
    with variant.patch():
        found = search(World(variant.scenario, variant.uses_floor))
    assert (found.violation is None) == variant.is_sound, told(found)


VIOLATIONS = {
    "a late marker": "a marker of transaction 1 of client 0 ends transaction 2 of client 0 in the data partition",
    "a late TxnOffsetCommit": "TxnOffsetCommit of transaction 1 of client 0 becomes part of transaction 2 of client 0",
    "a deposed coordinator": "Produce of transaction 2 of client 0 becomes part of transaction 1 of client 0",
    "a deposed coordinator, a batch is given up": (
        "transaction 1 of client 0 is open in the data partition, the log says CompleteAbort: no coordinator ends it"
    ),
}


@pytest.mark.parametrize("scenario", [pytest.param(one, id=one.name) for one in HOLES if one.name in VIOLATIONS])
def test_a_known_hole_is_still_there(scenario):
    """Once it is mended this fails: the scenario moves to those that have to hold."""
    assert search(World(scenario)).violation == VIOLATIONS[scenario.name]


def test_a_search_is_the_same_each_time():
    scenario = next(one for one in SMALL if one.name == "late requests")
    first, second = search(World(scenario)), search(World(scenario))
    assert first._replace(seconds=0) == second._replace(seconds=0)


def test_a_search_that_is_cut_short_says_so():
    scenario = next(one for one in SMALL if one.name == "late requests")
    assert not search(World(scenario), states_max=100).is_whole
