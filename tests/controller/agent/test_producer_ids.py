import random

import pytest

from headrace.controller.agent.producer_ids import BLOCK, PRODUCER_ID_MAX, ProducerIds
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError, ZkLost


def test_ids_come_one_after_another_and_blocks_too(ensemble):
    ids = ProducerIds(ensemble.session(), 1)
    assert [ensemble.run(ids.take()) for _ in range(BLOCK + 2)] == list(range(BLOCK + 2))
    assert ensemble.data(znodes.PRODUCER_ID_BLOCK) == znodes.encode_producer_id_block(1, BLOCK, 2 * BLOCK - 1)


def test_a_block_costs_one_write(ensemble):
    ids = ProducerIds(ensemble.session(), 1)
    ensemble.run(ids.take())
    writes = ensemble.writes
    for _ in range(BLOCK - 1):
        ensemble.run(ids.take())
    assert ensemble.writes == writes
    ensemble.run(ids.take())
    assert ensemble.writes == writes + 1


def test_an_id_is_never_given_twice_over_nodes_restarts_and_lost_replies(ensemble):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)

    def maybe_lose(_ordinal):
        if chance.random() < 0.2:
            raise ZkLost("no reply")

    ensemble.on_write = ensemble.after_write = maybe_lose
    nodes = [ProducerIds(ensemble.session(), index) for index in range(3)]
    given = []
    for _ in range(12_000):
        index = chance.randrange(3)
        if chance.random() < 0.005:
            nodes[index] = ProducerIds(ensemble.session(), index)
        try:
            given.append(ensemble.run(nodes[index].take()))
        except ZkError:
            pass
    assert len(given) > 5000, seed
    assert len(set(given)) == len(given), seed


def test_a_block_that_another_node_claims_in_between_is_not_given_again(ensemble):
    slow, fast = ProducerIds(ensemble.session(), 1), ProducerIds(ensemble.session(), 2)
    ensemble.put(znodes.PRODUCER_ID_BLOCK)
    taken = []

    def overtake(_ordinal):
        ensemble.on_write = lambda _ordinal: None
        taken.append(ensemble.run(fast.take()))

    ensemble.on_write = overtake
    assert ensemble.run(slow.take()) == BLOCK
    assert taken == [0]


def test_ids_that_are_used_up_are_an_error_and_never_wrap(ensemble):
    ensemble.put(znodes.PRODUCER_ID_BLOCK, znodes.encode_producer_id_block(1, 0, PRODUCER_ID_MAX - 5))
    with pytest.raises(ZkError, match="used up"):
        ensemble.run(ProducerIds(ensemble.session(), 1).take())
