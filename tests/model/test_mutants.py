"""The search would notice: each mutant of the tables that it can find is found, and leaves nothing behind."""

import pytest

from headrace.workers.coordinators.transaction import table
from tests.model.mutants import MUTANTS
from tests.model.search import search
from tests.model.world import World

FINDABLE = [one for one in MUTANTS if one.found_in is not None]


@pytest.mark.parametrize("mutant", [pytest.param(one, id=one.name) for one in FINDABLE])
def test_a_mutant_of_the_tables_is_found(mutant):
    before = [dict(rows) for rows in (table.ROWS, table.STORED, table.FAILED, table.REQUESTS)]
    with mutant.patch():
        found = search(World(mutant.found_in))
    assert found.violation is not None
    assert before == [table.ROWS, table.STORED, table.FAILED, table.REQUESTS]


SCENARIOS = list(dict.fromkeys(one.found_in for one in FINDABLE))


@pytest.mark.parametrize("scenario", [pytest.param(one, id=" ".join(one.plans)) for one in SCENARIOS])
def test_without_a_mutant_its_scenario_holds(scenario):
    assert search(World(scenario)).violation is None


def test_what_can_not_be_found_is_said():
    assert all(one.why for one in MUTANTS if one.found_in is None)
    assert len(FINDABLE) >= 20
