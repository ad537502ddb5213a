"""States and the notes of them: some at once, each alone where one conflicts, and failures that are no conflicts."""

import pytest

from headrace.controller.agent import noted_states
from headrace.controller.agent.noted_states import StateWrite, write_each
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkLost
from headrace.limits import ISR_NOTICE_PARTITIONS_MAX, NOTED_STATES_PER_COMMIT_MAX


@pytest.fixture
def node(new_node, ensemble):
    for path in znodes.PERSISTENT_PATHS:
        ensemble.put(path, b"")
    for index in range(5):
        ensemble.put(znodes.state_path("t", index), b"old")
    return new_node(join=False)


def write(node, versions):
    return node.run(
        write_each(
            node.zk, node.tasks, [StateWrite(("t", index), b"new", version) for index, version in enumerate(versions)]
        )
    )


def notes(ensemble):
    paths = sorted(path for path in ensemble.nodes if path.startswith(znodes.ISR_CHANGE_PREFIX))
    return [[index for _name, index in znodes.decode_isr_change(path, ensemble.data(path))] for path in paths]


def test_so_many_share_a_multi(node, ensemble, monkeypatch):
    monkeypatch.setattr(noted_states, "NOTED_STATES_PER_COMMIT_MAX", 2)
    assert write(node, [0] * 5) == {}
    assert notes(ensemble) == [[0, 1], [2, 3], [4]]
    assert {ensemble.data(znodes.state_path("t", index)) for index in range(5)} == {b"new"}
    longest = [("x" * 249, index) for index in range(NOTED_STATES_PER_COMMIT_MAX)]
    paths = sum(len(znodes.state_path(*place)) for place in longest)
    assert NOTED_STATES_PER_COMMIT_MAX <= ISR_NOTICE_PARTITIONS_MAX
    assert len(znodes.encode_isr_change(longest)) + paths + 400 * NOTED_STATES_PER_COMMIT_MAX < 1 << 20


def test_one_that_conflicts_is_left_out(node, ensemble):
    ensemble.put(znodes.state_path("t", 1), b"theirs")
    failures = write(node, [0] * 3)
    assert list(failures) == [("t", 1)]
    assert isinstance(failures["t", 1], ZkConflict)
    assert notes(ensemble) == [[0], [2]]
    assert ensemble.data(znodes.state_path("t", 1)) == b"theirs"


def test_where_a_reply_is_lost_nobody_knows(node, ensemble):
    def lose(_ordinal):
        raise ZkLost("no reply")

    ensemble.after_write = lose
    assert {type(failure) for failure in write(node, [0] * 3).values()} == {ZkLost}


def test_nothing_is_no_write(node, ensemble):
    assert write(node, []) == {}
    assert notes(ensemble) == []
