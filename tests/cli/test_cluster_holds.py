"""`headrace cluster describe --held` and `accept-loss` against a node, with a replica that another broker holds."""

import json

import pytest

from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from tests.support.waiting import DEADLINE_S
from tests.support.zookeeper_client import ZooKeeperClient

pytestmark = pytest.mark.process

BROKER = 99


@pytest.fixture
def zookeeper(node):
    """The node's, as it says where that is."""
    with Cluster(node.bootstrap) as cluster:
        connect = Admin(cluster).describe_broker_configs(["zookeeper.connect"])["zookeeper.connect"]
    client = ZooKeeperClient(connect, 10_000)
    client.start(DEADLINE_S)
    yield client
    client.stop()


@pytest.fixture
def held(zookeeper, topic):
    """A topic of which another broker holds partition 1."""
    path = held_znodes.held_path(BROKER, topic)
    one = HeldReplica("", is_proven=True, end_offset=88, end_epoch=4, high_watermark=120, waits_for=(2, 7))
    zookeeper.create(path, held_znodes.encode_held({1: one, 2: HeldReplica("", is_sole=True)}))
    yield topic
    zookeeper.delete(path)
    zookeeper.delete(held_znodes.accept_loss_path((topic, 1)))


def test_held_partitions_are_listed(program, held):
    rows = [json.loads(line) for line in program("cluster", "describe", "--held", "--json").splitlines()]
    assert [row for row in rows if row["topic"] == held] == [
        {
            "topic": held,
            "partition": 1,
            "held_by": BROKER,
            "waits_for": [2, 7],
            "log_end": 88,
            "high_watermark": 120,
            "is_proven": True,
            "parted_at": None,
        }
    ]
    said = [line.split() for line in program("cluster", "describe", "--held").decode().splitlines()]
    assert said[0] == ["TOPIC", "PARTITION", "HELD-BY", "WAITS-FOR", "LOG-END", "HIGH-WATERMARK", "LOSS"]
    assert [held, "1", "99", "2,7", "88", "120", "certain"] in said


def test_one_whose_log_is_ahead_of_its_state_says_from_where_on(program, held, zookeeper):
    one = HeldReplica("", is_proven=True, end_offset=88, end_epoch=4, parted_at=50, parted_from=1, parted_in=2)
    zookeeper.set(held_znodes.held_path(BROKER, held), held_znodes.encode_held({1: one}))
    rows = [json.loads(line) for line in program("cluster", "describe", "--held", "--json").splitlines()]
    assert [row["parted_at"] for row in rows if row["topic"] == held] == [50]
    assert b"old state, log ahead of it from 50 on" in program("cluster", "describe", "--held")


def test_a_loss_is_accepted_once_or_more(program, held, zookeeper):
    for _ in range(2):
        said = program("cluster", "accept-loss", f"{held}:1")
        assert b"in a few seconds" not in said, "its holder is away, and reads it later"
        assert zookeeper.get(held_znodes.accept_loss_path((held, 1))) is not None


def test_what_nobody_holds_is_not_accepted(program, held, zookeeper):
    for partition in (f"{held}:0", f"{held}:2", "nothing:1"):
        assert "is not held; nothing to do" in program.fails("cluster", "accept-loss", partition)
    assert zookeeper.get(held_znodes.accept_loss_path((held, 0))) is None
    assert "is not a partition: expected clicks:3" in program.fails("cluster", "accept-loss", held, exit_code=2)


def test_where_it_can_not_be_read_what_is_held_that_is_said(program, held, zookeeper):
    path = held_znodes.held_path(BROKER, held)
    zookeeper.set(path, b"{")
    assert path in program.fails("cluster", "accept-loss", f"{held}:1")
    assert zookeeper.get(held_znodes.accept_loss_path((held, 1))) is None


def test_a_zookeeper_that_is_not_there(program, held):
    assert program.fails("cluster", "accept-loss", f"{held}:1", "--zookeeper", "127.0.0.1:1")
