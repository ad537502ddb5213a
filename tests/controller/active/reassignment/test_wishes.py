"""Entries of /admin/reassign_partitions that are written anew while the ones before are carried out."""

import pytest

from headrace.controller.active.reassignment.reassignments import Reassignments
from headrace.controller.zookeeper import znodes
from tests.controller.active.reassignment.test_reassignments import assignment, start, wish

LATER = (4, 5, 6)


@pytest.fixture
def node(new_node, ensemble):
    for broker in range(1, 7):
        start(ensemble, broker)
    node = new_node()
    node.create("t", ((1, 2, 3),))
    node.turn()
    return node


@pytest.mark.parametrize(
    ("first", "step"),
    [((4, 4), "_drop_wishes"), ((1, 2, 3), "_alter"), ((2, 1, 3), "_alter")],
    ids=["refused", "there already", "another order"],
)
def test_an_entry_that_is_written_anew_before_the_first_is_dropped_is_carried_out(
    node, ensemble, monkeypatch, first, step
):
    before = getattr(Reassignments, step)
    written = []

    async def step_after_another_wish(self, *arguments, **options):
        if not written:
            written.append(1)
            wish(ensemble, {0: LATER})
        return await before(self, *arguments, **options)

    monkeypatch.setattr(Reassignments, step, step_after_another_wish)
    wish(ensemble, {0: first})
    node.turn()
    assert written
    assert assignment(ensemble).adding == {0: LATER}
    assert znodes.REASSIGN_PARTITIONS in ensemble.nodes
