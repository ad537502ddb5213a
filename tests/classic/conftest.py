"""Topics of their own on the node of all tests."""

import itertools

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster

_numbers = itertools.count()


@pytest.fixture
def new_topic(node):
    """`new_topic(3)` creates a topic of three partitions and returns its name."""
    with Cluster(node.bootstrap) as cluster:

        def create(partitions=1, name=""):
            name = name or f"classic-{next(_numbers)}"
            assert Admin(cluster).create_topics([NewTopic(name, partitions)]) == {name: None}
            return name

        yield create


@pytest.fixture
def group():
    return f"classic-group-{next(_numbers)}"
