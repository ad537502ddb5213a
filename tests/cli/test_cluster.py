"""`headrace cluster describe` from outside, of one node. Three are in `e2e/test_three_nodes.py`."""

import json

import pytest

pytestmark = pytest.mark.process


def test_a_cluster_is_described(program, topic):
    host, _, port = program.bootstrap.rpartition(":")
    said = program("cluster", "describe").decode().splitlines()
    assert said[0].endswith("controller 0")
    assert "offline 0  under-replicated 0  under-min-isr 0" in said[1]
    assert said[2].split() == ["BROKER", "ADDRESS", "RACK", "STATE", "LEADERS", "REPLICAS"]
    assert said[3].split()[:4] == ["0", f"{host}:{port}", "-", "controller"]
    [line] = program("cluster", "describe", "--json").splitlines()
    described = json.loads(line)
    [broker] = described["brokers"]
    assert (broker["broker"], broker["host"], broker["port"], broker["rack"]) == (0, host, int(port), None)
    assert broker["alive"]
    assert broker["controller"]
    assert broker["leaders"] == broker["replicas"] == described["partitions"]["all"] >= 3
    assert described["partitions"]["at_min_isr"] == described["partitions"]["all"]


def test_partitions_of_a_kind_are_listed(program, topic):
    rows = [json.loads(line) for line in program("cluster", "describe", "--at-min-isr", "--json").splitlines()]
    assert [row for row in rows if row["topic"] == topic] == [
        {
            "topic": topic,
            "partition": index,
            "leader": 0,
            "replicas": [0],
            "isr": [0],
            "min_isr": 1,
            "is": ["at-min-isr"],
        }
        for index in range(3)
    ]
    assert program("cluster", "describe", "--offline", "--under-replicated", "--json") == b""
    assert (
        program("cluster", "describe", "--under-min-isr").split()
        == b"TOPIC PARTITION LEADER REPLICAS ISR MIN-ISR IS".split()
    )
    listed = program("cluster", "describe", "--at-min-isr", "--offline").decode()
    assert [topic, "2", "0", "0", "0", "1", "at-min-isr"] in [line.split() for line in listed.splitlines()]


def test_a_cluster_that_is_not_there(program):
    program.bootstrap = "127.0.0.1:1"
    assert "no broker responded: 127.0.0.1:1" in program.fails("cluster", "describe")
