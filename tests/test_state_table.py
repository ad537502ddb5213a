"""Every table has every cell, each of which leads to states of its machine; and a machine's story is short and readable."""

from enum import Enum

import pytest

from headrace.controller.active.leaders.partition_states import PARTITION_STEPS, PartitionStatus
from headrace.controller.active.leaders.replica_states import REPLICA_STEPS, ReplicaStatus
from headrace.errors import ErrorCode
from headrace.limits import STORY_TRANSITIONS_MAX
from headrace.runtime import peer_states
from headrace.runtime.peer_states import PeerEvent, PeerState
from headrace.state_table import IGNORED, NEVER, Refusal, Story, Transition, by_state, into, to
from headrace.workers.coordinators.group.state import GroupState
from headrace.workers.coordinators.group.table import FAILED, ROWS, STORED
from headrace.workers.partition.replication import follower_states
from headrace.workers.partition.replication.follower_states import FollowerEvent, FollowerState


def flat(table):
    return {(state, event): cell for state, row in table.items() for event, cell in row.items()}


def by_column(rows):
    return {(state, event): row[state.column] for event, row in rows.items() for state in GroupState}


# name -> (cells, states, events)
TABLES = {
    "peer": (flat(peer_states.TABLE), PeerState, PeerEvent),
    "follower": (flat(follower_states.TABLE), FollowerState, FollowerEvent),
    "replica": (REPLICA_STEPS, ReplicaStatus, ReplicaStatus),
    "partition": (PARTITION_STEPS, PartitionStatus, PartitionStatus),
    "group": (by_column(ROWS), GroupState, ROWS),
    "group, stored": (by_column(STORED), GroupState, STORED),
    "group, not stored": (by_column(FAILED), GroupState, STORED),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_every_cell(name):
    cells, states, events = TABLES[name]
    assert cells.keys() == {(state, event) for state in states for event in events}


@pytest.mark.parametrize("name", TABLES)
def test_a_cell_is_a_transition_within_the_machine_or_a_refusal(name):
    cells, states, _events = TABLES[name]
    for place, cell in cells.items():
        if isinstance(cell, Transition):
            assert cell.states, place
            assert set(cell.states) <= set(states), place
            assert len(set(cell.states)) == len(cell.states), place
        else:
            assert isinstance(cell, Refusal | ErrorCode), place


class Lamp(Enum):
    OFF = "off"
    ON = "on"


class Event(Enum):
    PRESSED = "pressed"
    BROKEN = "broken"


def test_a_table_is_looked_up_by_state_then_by_event():
    light = to(print, Lamp.ON)
    table = by_state(Lamp, Event, {Lamp.OFF: (light, IGNORED), Lamp.ON: (into(Lamp.OFF), NEVER)})
    assert table[Lamp.OFF] == {Event.PRESSED: light, Event.BROKEN: IGNORED}
    assert table[Lamp.ON][Event.PRESSED].states == (Lamp.OFF,)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({Lamp.OFF: (IGNORED, IGNORED)}, "no row for ON"),
        ({Lamp.OFF: (IGNORED, IGNORED), Lamp.ON: (IGNORED,)}, "shorter"),
        ({Lamp.OFF: (IGNORED, IGNORED), Lamp.ON: (IGNORED, IGNORED, IGNORED)}, "longer"),
    ],
)
def test_a_table_that_lacks_a_cell_is_refused(rows, reason):
    with pytest.raises(ValueError, match=reason):
        by_state(Lamp, Event, rows)


def test_a_story_tells_the_last_transitions_in_their_order():
    story = Story()
    story.note(Lamp.OFF, Event.PRESSED)
    story.note("kitchen", Lamp.ON, int, 7)
    assert str(story) == "story: OFF PRESSED, kitchen ON int 7"


def test_a_story_is_bounded():
    story = Story()
    for number in range(3 * STORY_TRANSITIONS_MAX):
        story.note(number)
    assert len(story) == STORY_TRANSITIONS_MAX
    assert str(story).startswith(f"story: {2 * STORY_TRANSITIONS_MAX}, ")
    assert str(story).endswith(f", {3 * STORY_TRANSITIONS_MAX - 1}")
