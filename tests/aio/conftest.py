"""Both APIs, and topics of one's own on the node of all tests."""

import uuid

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from tests.aio.adapters import APIS


@pytest.fixture(params=sorted(APIS))
def api(request):
    """`headrace.aio`, or `headrace.client` with methods that are awaited."""
    return APIS[request.param]


@pytest.fixture
def new_topic(node):
    """Create a topic of so many partitions; returns its name."""

    def create(partitions=1):
        return create_topic(node.bootstrap, partitions)

    return create


def create_topic(bootstrap, partitions=1):
    topic = f"aio-{uuid.uuid4().hex[:8]}"
    with Cluster(bootstrap) as cluster:
        failed = Admin(cluster).create_topics([NewTopic(topic, partitions, 1)])
    assert not failed[topic], failed
    return topic
