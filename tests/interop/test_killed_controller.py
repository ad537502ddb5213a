"""A controller dies after a write to ZooKeeper, and a successor of the other kind completes what it began.

Each series goes through all writes: `python -m tests.interop.killed_controller reassignment kafka headrace`; here, by lot, one of
those of Kafka (8 of a creation, 12 of a deletion, 3 of an election, 14 of a reassignment), and all of ours (1, 1, 2, 5).
"""

import random

import pytest

from tests.interop.killed_controller import play

KAFKA_WRITES = {"creation": 8, "deletion": 12, "election": 3, "reassignment": 14}
SEED = random.randrange(10**6)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


@pytest.mark.parametrize("operation", KAFKA_WRITES)
def test_kafka_completes_what_a_killed_node_began(tmp_path, operation):
    assert play(tmp_path, operation, "headrace", "kafka") == []


@pytest.mark.parametrize("operation", KAFKA_WRITES)
def test_a_node_completes_what_a_killed_kafka_began(tmp_path, operation):
    first = random.Random(f"{SEED}:{operation}").randint(1, KAFKA_WRITES[operation])
    print(f"seed={SEED} write={first}")
    assert play(tmp_path, operation, "kafka", "headrace", rounds=range(first, first + 1)) == []


def test_a_node_deletes_the_replica_of_a_reassignment_that_a_killed_node_cancelled(tmp_path):
    """With a Kafka successor it stays, as with Kafka alone: no node of ZooKeeper's that Kafka reads names it."""
    assert play(tmp_path, "cancellation", "headrace", "headrace", ibp="2.6") == []
