"""ZooKeeper is put back to a backup, as docs/operations.md says: nobody loses what was acknowledged since, or it is held for an operator.

The three nodes are `headrace dev --nodes 3`, whose ZooKeeper's data are copied while nothing runs.
"""

import contextlib
import json
import os
import re
import shutil
import signal

import pytest

from headrace.controller.zookeeper import held_znodes, znodes
from headrace.leader_eras import ERA
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.node.restored_zookeeper import BrokersLive, hold_all
from headrace.protocol.record_batch import iterate_batches
from tests.cli.program import Program
from tests.e2e.test_three_nodes import NODES, create, is_known, isrs_of, numbers, read, running, write
from tests.support.waiting import DEADLINE_S, wait_until
from tests.support.zookeeper_client import ZooKeeperClient

TOPIC = "kept"
PARTITIONS = 6
SETTINGS = ("min.insync.replicas=1", "auto.leader.rebalance.enable=false")
WHOLE = [list(range(NODES))] * PARTITIONS


def prepare(directory):
    """600 records before the backup; 600 more after it, which node 2 has none of."""
    with running(directory, *SETTINGS) as nodes:
        create(nodes.bootstrap, TOPIC, PARTITIONS, replication=NODES)
        write(nodes.bootstrap, TOPIC, numbers(600))
        wait_until(lambda: isrs_of(nodes.bootstrap, TOPIC) == WHOLE, nodes.log)
    shutil.copytree(data_of(directory), directory / "backup")
    with running(directory, *SETTINGS) as nodes:
        wait_until(lambda: is_known(nodes.bootstrap, TOPIC), nodes.log)
        wait_until(lambda: isrs_of(nodes.bootstrap, TOPIC) == WHOLE, nodes.log)
        os.kill(nodes.pid(2), signal.SIGTERM)
        rest = ",".join(nodes.bootstraps[:2])
        wait_until(lambda: isrs_of(rest, TOPIC) == [[0, 1]] * PARTITIONS, nodes.log)
        write(rest, TOPIC, numbers(600, 600))


def put_back(directory):
    shutil.rmtree(data_of(directory))
    shutil.copytree(directory / "backup", data_of(directory))


def data_of(directory):
    return directory / "zookeeper" / "data"


@contextlib.contextmanager
def zookeeper_of(directory):
    """Its own, while no node runs: its address, and a client."""
    server = EmbeddedZooKeeper(directory / "zookeeper")
    server.start()
    try:
        client = ZooKeeperClient(server.connect, 10_000)
        client.start(DEADLINE_S)
        yield server.connect, client
        client.stop()
    finally:
        server.stop()


def logs_of(directory, index):
    """Of each node: bytes of a partition's batches, in order."""
    return [
        b"".join(
            path.read_bytes()
            for path in sorted((directory / f"node-{node}" / "logs" / f"{TOPIC}-{index}").glob("*.log"))
        )
        for node in range(NODES)
    ]


def batches_of(data):
    return [bytes(batch) for _position, _header, batch in iterate_batches(data)]


def check_equal(directory):
    """Byte by byte, once the nodes are stopped."""
    for index in range(PARTITIONS):
        first, *others = map(batches_of, logs_of(directory, index))
        assert first
        assert all(one == first for one in others)


def is_none_held(nodes):
    return not Program(nodes.bootstraps[0])("cluster", "describe", "--held", "--json")


def test_after_the_procedure_of_a_restore_the_best_logs_lead_and_nothing_is_lost(tmp_path):
    prepare(tmp_path)
    put_back(tmp_path)
    with zookeeper_of(tmp_path) as (connect, client):
        before = znodes.decode_producer_id_block(client.get(znodes.PRODUCER_ID_BLOCK).data)
        client.create(f"{held_znodes.ACCEPT_LOSS}/{TOPIC}:0")  # of the past, too
        said = Program("")("cluster", "restored", connect)
        assert re.match(rb"\d+ partitions will be led by their best log", said)
        state = znodes.decode_state("", client.get(znodes.state_path(TOPIC, 0)).data, 0)
        assert (state.leader, sorted(state.isr)) == (-1, [0, 1, 2])
        assert sorted(client.children(held_znodes.HELD)) == ["0", "1", "2"]
        assert client.children(held_znodes.ACCEPT_LOSS) == []
        assert znodes.decode_producer_id_block(client.get(znodes.PRODUCER_ID_BLOCK).data) == before + 1_000_000
    with running(tmp_path, *SETTINGS) as nodes:
        wait_until(lambda: is_known(nodes.bootstrap, TOPIC), nodes.log)
        wait_until(lambda: isrs_of(nodes.bootstrap, TOPIC) == WHOLE, nodes.log)
        assert read(nodes.bootstrap, TOPIC) == numbers(1200)
        write(nodes.bootstrap, TOPIC, numbers(60, 1200))
        assert read(nodes.bootstrap, TOPIC) == numbers(1260)
        wait_until(lambda: is_none_held(nodes), nodes.log)
        assert "acknowledged records may be lost" not in nodes.log()
    check_equal(tmp_path)
    with zookeeper_of(tmp_path) as (_connect, client):
        epochs = [
            json.loads(client.get(znodes.state_path(TOPIC, index)).data)["leader_epoch"] for index in range(PARTITIONS)
        ]
    assert all(epoch >= ERA for epoch in epochs)


@pytest.mark.heavy  # once in some runs a partition is held for an operator, as decision 015 says: not judged here yet
def test_where_nobody_followed_it_logs_that_are_ahead_of_their_states_lead(tmp_path):
    """The nodes start on the backup as it is; what a log proves is found.

    No ISR of the backup is whole. A leader that went on in the epoch of its backup, as the first one that was back, has everything:
    it leads on, and no state is proven old.
    """
    prepare(tmp_path)
    put_back(tmp_path)
    with running(tmp_path, *SETTINGS) as nodes:
        wait_until(lambda: is_known(nodes.bootstrap, TOPIC), nodes.log)
        wait_until(lambda: isrs_of(nodes.bootstrap, TOPIC) == WHOLE and is_none_held(nodes), nodes.log)
        assert read(nodes.bootstrap, TOPIC) == numbers(1200)
        assert "ZooKeeper has an old state" in nodes.log()
    check_equal(tmp_path)


def test_a_cluster_whose_brokers_live_is_not_restored(tmp_path):
    said = []
    with (
        running(tmp_path) as nodes,
        pytest.raises(BrokersLive, match="brokers 0, 1, 2 are registered: stop them first"),
    ):
        hold_all(nodes.zookeeper, said.append, wait_s=1.0)
    assert said == ["waiting until the sessions of brokers 0, 1, 2 are over"]
