"""What Apache Kafka 3.9 brokers said to each other, read and written again, byte by byte; and in what versions."""

import pytest

from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import ACCEPTED, NEGOTIATED, SERVED, inter_broker
from headrace.protocol.codec import encode_request, encode_response
from headrace.protocol.frames import build_request
from tests.support.recorded_frames import IBPS, all_recorded, recorded

ALL = [one for ibp in IBPS for one in all_recorded(ibp)]
BY_CONTROLLER = {
    ApiKey.LEADER_AND_ISR: "leader_and_isr",
    ApiKey.STOP_REPLICA: "stop_replica",
    ApiKey.UPDATE_METADATA: "update_metadata",
}
FIXED = {**BY_CONTROLLER, ApiKey.FETCH: "fetch", ApiKey.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch"}


def name_of(one):
    return f"{one.ibp}-{one.situation}-{one.target}-{one.api_key.api_name}-v{one.version}"


@pytest.mark.parametrize("one", ALL, ids=name_of)
def test_what_a_broker_asked_is_read_and_written_again(one):
    assert encode_request(one.api_key, one.version, one.request) == one.request_body
    assert encode_response(one.api_key, one.version, one.response) == one.response_body
    header = one.header
    frame = build_request(one.api_key, one.version, header.correlation_id, header.client_id, one.request)
    assert frame[4:] == one.request_frame


@pytest.mark.parametrize("ibp", IBPS)
@pytest.mark.parametrize("api_key", FIXED)
def test_each_ibp_sends_the_versions_of_our_table(ibp, api_key):
    found = {one.version for one in recorded(ibp, api_key)}
    wanted = getattr(inter_broker(ibp), FIXED[api_key])
    assert found <= {wanted}
    assert found or api_key == ApiKey.OFFSET_FOR_LEADER_EPOCH


@pytest.mark.parametrize("one", ALL, ids=name_of)
def test_a_node_accepts_what_a_broker_asked(one):
    low, high = SERVED[one.api_key]
    assert low <= one.version <= high
    assert one.api_key in ACCEPTED or one.api_key in NEGOTIATED or one.api_key == ApiKey.OFFSET_FOR_LEADER_EPOCH
