"""What holds in every state, and in those where nothing can happen any more. What one transition breaks: `world.py`, `state.py`."""

from functools import lru_cache

from headrace.workers.coordinators.transaction import records
from headrace.workers.coordinators.transaction.state import PREPARED, TransactionState
from tests.model.coordinator_step import slot
from tests.model.state import DATA, GROUP, PLACES, Violation, name_of
from tests.model.story import NAMES, where

entry_of = lru_cache(4096)(records.entry_of)


def judge(state):
    """Of every state: what is open in a partition, the coordinator's log will end."""
    for node, part in ((DATA, state.data), (GROUP, state.group)):
        if part.tags:
            entry = entry_of(state.value)
            is_ended = entry.state is TransactionState.ONGOING or entry.state in PREPARED
            if not is_ended or PLACES[node] not in entry.partitions:
                raise Violation(
                    f"{name_of(part.tags[0])} is open in {where(PLACES[node])}, the log says {entry.state.value}:"
                    " no coordinator ends it"
                )


def fault_of_end(world, state):
    """What is wrong where nothing can happen any more; None: nothing is."""
    for number, client in enumerate(state.clients):
        if not client.status and world.kind_of(number, client):
            return f"client {number} waits for ever for {NAMES[world.kind_of(number, client)]}"
    for node, part in ((DATA, state.data), (GROUP, state.group)):
        if part.tags:
            return f"{name_of(part.tags[0])} is open for ever in {where(PLACES[node])}"
    transaction = world.coordinators.bundles[state.bundle].transaction
    if transaction is not None:
        found = slot(world.coordinators.bundles[state.bundle], "state")
        if found is TransactionState.ONGOING or found in PREPARED:
            return f"the id stays {found.value} for ever"
    for tag, fate in state.told:
        plan = world.scenario.plans[tag[0]]
        if fate == "C" and "P" in _part_of(plan, tag[1]) and tag not in dict(state.fates):
            return f"{name_of(tag)} was answered committed, and its data was never decided"
    return None


def _part_of(plan, number):
    """Of a plan: its transaction of that number."""
    return plan.replace("-", "+").split("+")[number]
