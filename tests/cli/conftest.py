"""The program and a topic of one's own."""

import uuid

import pytest

from tests.cli.program import Program


@pytest.fixture
def program(node):
    program = Program(node.bootstrap)
    yield program
    program.close()


@pytest.fixture
def topic(program):
    name = f"cli-{uuid.uuid4().hex[:8]}"
    program("topics", "create", name, "--partitions", "3")
    return name


@pytest.fixture
def events(monkeypatch):
    """What `headrace dev` did, in order, with a fake for ZooKeeper."""
    events = []

    class FakeZooKeeper:
        connect = "127.0.0.1:2222"

        def __init__(self, directory):
            self.directory = directory

        def start(self):
            events.append(("zookeeper started", self.directory))

        def check(self, now_ms):
            events.append(("zookeeper checked", now_ms))

        def stop(self):
            events.append(("zookeeper stopped", self.directory))

    monkeypatch.setattr("headrace.node.embedded_zookeeper.EmbeddedZooKeeper", FakeZooKeeper)
    return events
