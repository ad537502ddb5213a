"""Breadth first through all states of a scenario: the first violation has the shortest story.

Afterwards, backwards from the ends where all is well: a state from which none of them is reached without a further fault is stuck.
"""

import gc
import time
from array import array
from typing import Any, NamedTuple

from tests.model.invariants import fault_of_end


class Found(NamedTuple):
    """violation   None: none; `story` leads there
    ends        states where nothing can happen any more
    is_whole    every state was seen, within the bound on states
    """

    states: int
    transitions: int
    depth: int
    ends: int
    seconds: float
    is_whole: bool
    violation: Any = None
    story: tuple = ()


def search(world, states_max=3_000_000):
    """The real tables raise `Broken` through the world, which is a violation too."""
    gc.freeze()
    gc.disable()
    try:
        return _search(world, states_max)
    finally:
        gc.enable()
        gc.unfreeze()


def _search(world, states_max):
    begun = time.perf_counter()
    first = world.first()
    numbers = {first: 0}
    states, parents, depths = [first], array("l", [-1]), array("l", [0])
    stories = [""]
    sources, targets = array("l"), array("l")  # of progress
    good = []
    transitions = ends = 0
    number = 0

    def found(violation=None, at=-1, last="", is_whole=True):
        story = [] if not last else [last]
        while at > 0:
            story.append(stories[at])
            at = parents[at]
        return Found(
            len(states), transitions, depths[-1], ends, time.perf_counter() - begun, is_whole, violation,
            tuple(reversed(story)),
        )  # fmt: skip

    while number < len(states):
        state = states[number]
        goes_on = False
        for story, following, is_fault, violation in world.next_of(state):
            transitions += 1
            if violation is not None:
                return found(violation, number, story)
            known = numbers.get(following)
            if known is None:
                known = numbers[following] = len(states)
                states.append(following)
                parents.append(number)
                depths.append(depths[number] + 1)
                stories.append(story)
            if not is_fault:
                goes_on = True
                sources.append(number)
                targets.append(known)
        if not goes_on:
            ends += 1
            fault = fault_of_end(world, state)
            if fault is not None:
                return found(fault, number)
            good.append(number)
        number += 1
        if len(states) > states_max:
            return found(is_whole=False)
    stuck = _first_stuck(len(states), sources, targets, good)
    if stuck >= 0:
        return found("from here on nothing leads to an end, whatever is delivered", stuck)
    return found()


def _first_stuck(count, sources, targets, good):
    """The number of the first state from which no good end is reached by progress; -1: none."""
    starts = array("l", [0]) * (count + 1)
    for target in targets:
        starts[target + 1] += 1
    for place in range(count):
        starts[place + 1] += starts[place]
    filled, before = array("l", starts), array("l", [0]) * len(targets)
    for place, target in enumerate(targets):
        before[filled[target]] = sources[place]
        filled[target] += 1
    reached = bytearray(count)
    todo = list(good)
    for one in todo:
        reached[one] = 1
    while todo:
        one = todo.pop()
        for source in before[starts[one] : starts[one + 1]]:
            if not reached[source]:
                reached[source] = 1
                todo.append(source)
    return reached.find(0)
