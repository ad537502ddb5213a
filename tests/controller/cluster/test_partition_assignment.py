"""Where a partition's replicas are, and where they are going (KIP-455)."""

from headrace.controller.cluster.partition_assignment import PartitionAssignment, without
from tests.support.counted import Counter, counted_numbers


def test_a_reassignment_keeps_the_origin():
    moving = PartitionAssignment((1, 2, 3)).to((3, 4))
    assert moving == PartitionAssignment((3, 4, 1, 2), (4,), (1, 2))
    assert (moving.origin, moving.target) == ((3, 1, 2), (3, 4))
    assert moving.to(moving.origin) == PartitionAssignment((3, 1, 2))


def test_an_assignment_of_very_many_replicas_is_compared_by_sets():
    """One of 100,000 ids held the controller for 30 s, before it was asked which of them are brokers."""
    compared = Counter()
    count = 400
    replicas = counted_numbers(range(count), compared)
    assert without(replicas, counted_numbers(range(count, 2 * count), compared)) == tuple(range(count))
    PartitionAssignment((0, 1, 2)).to(replicas)
    assert compared.count < 10 * count
