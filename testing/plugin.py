"""The pytest plugin: `pip install headrace[testing]` is all that a test needs to have a Kafka.

    kafka           one node for the whole session
    kafka_topic     a new topic of the test's own on it, deleted after the test
    kafka_cluster   a function that starts a cluster: kafka_cluster(3); it ends with the test

Every session of pytest imports this module, so it imports a node's code only where a fixture is used. The keeper starts when a session has
a test that uses one of these, beside the tests before it.

Runs in: the test process. Source: pytest's documentation of plugins and fixtures.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from headrace.testing.cluster import KafkaCluster, KafkaServer

FIXTURES: Final = frozenset({"kafka", "kafka_topic", "kafka_cluster"})
KEEPER: Final = "headrace.testing.keeper_client"
NAME_CHARACTERS: Final = 100  # of a test's name in its topic's
_NOT_OF_A_NAME: Final = re.compile(r"[^a-zA-Z0-9._-]+")

NewCluster = Callable[..., "KafkaCluster"]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin with the imports of a node while other tests run."""
    if session.config.option.collectonly:
        return
    if any(FIXTURES.intersection(getattr(item, "fixturenames", ())) for item in session.items):
        from headrace.testing.keeper_client import keeper

        keeper().begin()


def pytest_unconfigure() -> None:
    module = sys.modules.get(KEEPER)
    if module is not None:
        module.keeper().end()


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """A node for the whole session."""
    from headrace.testing.cluster import KafkaServer

    with KafkaServer() as server:
        yield server


@pytest.fixture
def kafka_topic(kafka: KafkaServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a topic with one partition, which no other test uses."""
    name = topic_name(request.node.name)
    kafka.create_topic(name)
    yield name
    kafka.delete_topic(name)


@pytest.fixture
def kafka_cluster() -> Iterator[NewCluster]:
    """A function that starts clusters of the test's own: `kafka_cluster(3)`, `kafka_cluster(3, {"min.insync.replicas": "2"})`."""
    from headrace.testing.cluster import KafkaCluster

    made: list[KafkaCluster] = []

    def make(nodes: int = 3, settings: Mapping[str, str] | None = None) -> KafkaCluster:
        cluster = KafkaCluster(nodes, settings)
        cluster.start()
        made.append(cluster)
        return cluster

    yield make
    for cluster in made:
        cluster.stop()


def topic_name(test: str) -> str:
    """A name that Kafka allows, which tells the test."""
    return f"{_NOT_OF_A_NAME.sub('-', test)[:NAME_CHARACTERS].strip('.-')}-{uuid.uuid4().hex[:8]}"
