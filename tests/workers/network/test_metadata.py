"""Metadata names only leaders that the same answer has an address of.

Holds: workers/network/handlers/a03_metadata.py
"""

import pytest

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.shm.cluster_view import BrokerView
from headrace.workers.network.handlers import a03_metadata
from tests.support.fake_seat import view_of
from tests.workers.network.network_rig import Rig

HERE, AWAY, GONE = 0, 5, 6
VERSIONS = range(ADVERTISED[ApiKey.METADATA][0], ADVERTISED[ApiKey.METADATA][1] + 1)


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    view = view_of(("t", 4))
    topic = view.topics["t"]
    leaders = (HERE, AWAY, GONE, -1)
    partitions = [each._replace(leader=leader) for each, leader in zip(topic.partitions, leaders, strict=True)]
    brokers = {number: BrokerView(number, f"host-{number}", 9092, None, 1) for number in (HERE, AWAY)}
    rig.seat.view.view = view._replace(brokers=brokers, topics={"t": topic._replace(partitions=tuple(partitions))})
    rig.context.follow_view()
    yield rig
    rig.close()


class Exchange:
    def __init__(self, version):
        self.api_version = version

    def answer_bytes(self, body):
        self.body = body


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_all", [True, False], ids=["all topics", "by name"])
def test_a_leader_that_has_just_gone_is_not_named(rig, version, is_all):
    """kafka-python raises UnknownBrokerIdError out of poll() where an answer names a leader that it has no address of."""
    asked = [messages.MetadataRequest.MetadataRequestTopic(name="t")]
    everything = None if version else []
    request = messages.MetadataRequest(topics=everything if is_all else asked)
    exchange = Exchange(version)
    a03_metadata.handle(rig.context, exchange, memoryview(encode_request(ApiKey.METADATA, version, request)))
    answer = decode_response(ApiKey.METADATA, version, memoryview(exchange.body))
    (topic,) = answer.topics
    assert topic.error_code == 0
    unavailable = int(ErrorCode.LEADER_NOT_AVAILABLE)
    found = [(each.error_code, each.leader_id) for each in topic.partitions]
    assert found == [(0, HERE), (0, AWAY), (unavailable, -1), (unavailable, -1)]
    assert [each.node_id for each in answer.brokers] == [HERE, AWAY]
