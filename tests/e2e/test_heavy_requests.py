"""Requests of very many rows: what they cost grows with their rows, and no other client waits for long.

The fast form (`make test`) compares the processor time of 5,000 rows with that of 1,250, for the newest versions and two shapes of
rows; it says nothing about how fast the machine is.
The full form (`make heavy`) has 40,000 rows of every array of every version, with other clients beside them.
"""

import os

import pytest

from headrace.protocol.apis import ApiKey
from tests.e2e.heavy_node import HeavyNode
from tests.support.blown_requests import all_kinds

ROWS, ROWS_OF_ALL_VERSIONS = 5_000, 40_000
FEWER = 4  # times
GROWTH_MAX = 2 * FEWER  # of processor time: in proportion is FEWER, quadratic FEWER * FEWER
CPU_S_MIN = 0.1  # below that a request is not measured again: a quadratic loop of 5,000 rows takes longer
SHAPES_IN_BRIEF = ("unique", "beside")  # the full form has all of them
TRIES = 3  # of a request that seems to grow too fast: another process may have had the caches
WAIT_S_MAX = 1.0 * float(os.environ.get("HEAVY_FACTOR", "1"))  # of another client; more on a machine with other work


@pytest.fixture
def node(tmp_path):
    node = HeavyNode(tmp_path)
    yield node
    node.close()


def newest(_low, high):
    return [high]


def test_what_a_request_costs_grows_with_its_rows_and_not_with_their_square(node):
    seen = set()
    for kind in all_kinds(newest):
        if kind.shape not in SHAPES_IN_BRIEF:
            continue
        seen.add(kind.api_key)
        for _ in range(TRIES):
            cost = max(node.weigh(kind, ROWS).cpu_s.values())
            if cost < CPU_S_MIN:
                break
            growth = cost / max(node.weigh(kind, ROWS // FEWER).cpu_s.values())
            if growth < GROWTH_MAX:
                break
        else:
            pytest.fail(f"{kind}: {ROWS} rows cost {cost:.2f} s, {growth:.1f} times as much as a {FEWER}th of them")
    assert seen >= {ApiKey.PRODUCE, ApiKey.LEADER_AND_ISR, ApiKey.ALTER_PARTITION_REASSIGNMENTS}


@pytest.mark.heavy
def test_nobody_waits_long_for_a_request_of_forty_thousand_rows(node):
    late = []
    for kind in all_kinds(lambda low, high: range(low, high + 1)):
        weight = node.weigh(kind, ROWS_OF_ALL_VERSIONS)
        waited_s = max(weight.wait_s.values())
        print(f"{waited_s:7.3f} s, processor {max(weight.cpu_s.values()):7.3f} s, {kind}", flush=True)
        if waited_s > WAIT_S_MAX:
            late.append((round(waited_s, 2), str(kind)))
    assert not late
