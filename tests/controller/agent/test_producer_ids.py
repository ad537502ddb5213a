"""Producer ids: unique over nodes, restarts, lost replies, and a ZooKeeper that was restored."""

import random

import pytest

from headrace.controller.agent.producer_id_file import PRODUCER_ID_FILE, PRODUCER_ID_MAX, ProducerIdFile
from headrace.controller.agent.producer_ids import BLOCK, ProducerIds
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError, ZkLost
from headrace.controller.zookeeper.znodes import BadZnode
from headrace.limits import PRODUCER_IDS_SKIPPED


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
    with pytest.raises(ZkError, match="exhausted"):
        ensemble.run(ProducerIds(ensemble.session(), 1).take())


# A ZooKeeper that was restored


@pytest.fixture
def log_dirs(tmp_path):
    dirs = [tmp_path / "a", tmp_path / "b"]
    for one in dirs:
        one.mkdir()
    return dirs


def put_back(ensemble, data):
    """The counter as a backup has it."""
    ensemble.put(znodes.PRODUCER_ID_BLOCK, data)


@pytest.mark.parametrize("is_started_again", [False, True])
@pytest.mark.parametrize("is_compared", [False, True], ids=["claims", "compares"])
def test_no_id_is_given_again_by_a_zookeeper_of_the_past(ensemble, log_dirs, is_started_again, is_compared):
    ids = ProducerIds(ensemble.session(), 1, ProducerIdFile(log_dirs))
    backup = b""
    given = []
    for _ in range(3 * BLOCK):
        given.append(ensemble.run(ids.take()))
        backup = backup or ensemble.data(znodes.PRODUCER_ID_BLOCK)
    put_back(ensemble, backup)
    if is_started_again:
        ids = ProducerIds(ensemble.session(), 1, ProducerIdFile(log_dirs))
    if is_compared:
        ensemble.run(ids.compare())
    later = [ensemble.run(ids.take()) for _ in range(2 * BLOCK)]
    assert not set(given) & set(later)
    assert min(later) >= 3 * BLOCK + PRODUCER_IDS_SKIPPED


def test_what_was_left_of_a_block_is_not_given_once_another_may_have_it(ensemble, log_dirs):
    ids = ProducerIds(ensemble.session(), 1, ProducerIdFile(log_dirs))
    ensemble.run(ids.take())
    put_back(ensemble, b"")
    ensemble.run(ids.compare())
    assert ensemble.run(ids.take()) == BLOCK + PRODUCER_IDS_SKIPPED


def test_ids_of_other_nodes_are_skipped_as_well(ensemble, log_dirs):
    """One that knows only of its own block is the first to find it."""
    first = ProducerIds(ensemble.session(), 1, ProducerIdFile(log_dirs[:1]))
    second = ProducerIds(ensemble.session(), 2, ProducerIdFile(log_dirs[1:]))
    ensemble.run(first.take())
    given = {ensemble.run(second.take()) for _ in range(20 * BLOCK)}
    put_back(ensemble, b"")
    ensemble.run(first.compare())
    ensemble.run(second.compare())
    later = {ensemble.run(one.take()) for one in (first, second) for _ in range(3 * BLOCK)}
    assert not given & later


def test_where_zookeeper_counts_on_nothing_is_skipped_or_written(ensemble, log_dirs, caplog):
    ids = ProducerIds(ensemble.session(), 1, ProducerIdFile(log_dirs))
    other = ProducerIds(ensemble.session(), 2)
    assert [ensemble.run(one.take()) for one in (ids, other, ids)] == [0, BLOCK, 1]
    writes = ensemble.writes
    ensemble.run(ids.compare())
    assert (ensemble.run(ids.take()), ensemble.writes) == (2, writes)
    assert ProducerIdFile(log_dirs).next == 2 * BLOCK  # what others were given is known then
    assert not caplog.text


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"next": "7"}', '{"next": -7}', '{"next": 99999999999999999999}', "\xff"]
)
def test_one_file_that_can_be_read_is_enough(log_dirs, text):
    ProducerIdFile(log_dirs).note(7000)
    (log_dirs[0] / PRODUCER_ID_FILE).write_bytes(text.encode("latin-1"))
    assert ProducerIdFile(log_dirs).next == 7000
    assert ProducerIdFile(log_dirs[:1]).next == 0


def test_a_directory_that_takes_no_file_is_a_warning_once(log_dirs, caplog):
    log_dirs[0].rmdir()
    file = ProducerIdFile(log_dirs)
    file.note(1000)
    file.note(2000)
    assert ProducerIdFile(log_dirs).next == 2000
    assert caplog.text.count("not recorded") == 1


def test_a_counter_that_can_not_be_read_is_left_as_it_is_and_keeps_nothing_else_waiting(ensemble, caplog):
    ensemble.put(znodes.PRODUCER_ID_BLOCK, b"{")
    ids = ProducerIds(ensemble.session(), 1)
    ensemble.run(ids.compare())
    assert "producer ids not allocated reason=" in caplog.text
    with pytest.raises(BadZnode):
        ensemble.run(ids.take())
    assert ensemble.data(znodes.PRODUCER_ID_BLOCK) == b"{"
