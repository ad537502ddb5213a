"""Requests of other brokers: they go to the controller process as they came, and from nobody else."""

from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode
from headrace.limits import BROKER_REQUEST_WAIT_MS_MAX, BROKER_REQUESTS_HELD_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey, response_header_version
from headrace.protocol.broker_versions import ACCEPTED
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.shm.cluster_view import BrokerView
from headrace.workers.network.forwarding.forwarded import OF_BROKERS, of_broker
from headrace.workers.network.router import HANDLERS
from tests.workers.network.follower_rig import EPOCH, FOLLOWER, FollowerRig, wanted
from tests.workers.network.network_rig import CONTROLLER, Rig

HERE, ELSEWHERE = "127.0.0.1", "192.0.2.1"
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    register(rig, ELSEWHERE)
    yield rig
    rig.close()


def register(rig, host):
    """The view has one other broker."""
    view = rig.seat.view.view
    rig.seat.view.view = view._replace(version=view.version + 1, brokers={5: BrokerView(5, host, 9092, None, 1)})


def send(rig, api_key, version=None):
    """Send an empty request of an API over a connection of its own; returns the client."""
    version = ACCEPTED[api_key][1] if version is None else version
    name = f"{api_key.api_name}Request"
    before = len(rig.connections)
    client = rig.connect()
    client.sendall(build_request(api_key, version, 7, "x", messages.class_of(name)()))
    rig.turn_until(lambda: len(rig.connections) > before and all(each.exchanges for each in rig.connections))
    return client


def forwarded(rig):
    return len(rig.seat.writers[CONTROLLER].written)


def answer_of(rig, client, api_key, version):
    client.settimeout(0.01)
    data = b""
    for _ in range(1_000):
        rig.turn()
        try:
            data += client.recv(1 << 16)
        except TimeoutError:
            continue
        if len(data) >= 4 and len(data) - 4 >= int.from_bytes(data[:4], "big"):
            return decode_response(api_key, version, memoryview(data)[8 + response_header_version(api_key, version) :])
        assert data, "the connection was closed"
    raise AssertionError("no answer")


@pytest.mark.parametrize("key", OF_BROKERS, ids=lambda key: key.api_name)
def test_a_request_of_a_broker_goes_to_the_controller_as_it_came(key):
    taken = []
    requests = SimpleNamespace(forward=lambda exchange, body: taken.append((exchange, bytes(body))))
    exchange = SimpleNamespace()
    assert HANDLERS[key] is of_broker
    HANDLERS[key](SimpleNamespace(broker_requests=requests), exchange, memoryview(b"as it came"))
    assert taken == [(exchange, b"as it came")]
    assert key not in ADVERTISED, "no client sends it"


@pytest.mark.parametrize("end", [0, 1], ids=["oldest", "newest"])
@pytest.mark.parametrize("key", OF_BROKERS, ids=lambda key: key.api_name)
def test_a_stranger_s_request_is_held_and_then_refused(rig, key, end, caplog):
    version = ACCEPTED[key][end]
    clients = [send(rig, key, version), send(rig, key, version)]
    rig.clock.ms += BROKER_REQUEST_WAIT_MS_MAX - 1
    rig.turn()
    assert all(each.exchanges for each in rig.connections), "the view may be behind"
    rig.clock.ms += 1
    for client in clients:
        assert answer_of(rig, client, key, version).error_code == DENIED
    assert not forwarded(rig)
    assert caplog.text.count("broker request refused") == 1, "one line a peer and API"


@pytest.mark.parametrize("key", OF_BROKERS, ids=lambda key: key.api_name)
def test_where_a_broker_is_registered_on_this_machine_its_own_requests_are_taken(rig, key):
    register(rig, HERE)
    send(rig, key)
    assert forwarded(rig) == 1


def test_a_broker_that_the_view_does_not_have_yet_is_taken_once_it_has(rig):
    send(rig, ApiKey.LEADER_AND_ISR)
    assert not forwarded(rig)
    register(rig, HERE)
    rig.turn()
    assert forwarded(rig) == 1


def test_a_request_that_waits_comes_before_the_next_one(rig):
    client = send(rig, ApiKey.LEADER_AND_ISR)
    register(rig, HERE)
    client.sendall(build_request(ApiKey.UPDATE_METADATA, 8, 8, "x", messages.UpdateMetadataRequest()))
    rig.turn_until(lambda: forwarded(rig) == 2)
    kinds = [int.from_bytes(header[8:10], "little") for _kind, header in rig.seat.writers[CONTROLLER].written]
    assert kinds == [ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA]


def test_a_node_that_does_not_follow_the_cluster_refuses_so_that_it_is_asked_again(rig):
    """A Kafka controller does not repeat what was answered with an error."""
    rig.seat.away_since_ms = 1_795_000_000_000
    client = send(rig, ApiKey.UPDATE_METADATA)
    rig.clock.ms += BROKER_REQUEST_WAIT_MS_MAX
    rig.turn_until(lambda: not rig.connections)
    assert client.recv(100) == b""


def test_while_a_brokers_name_was_never_found_a_stranger_may_be_that_broker(rig):
    """It asks again over another connection; by then there may be an address."""
    register(rig, "name-of-a-broker.invalid")
    client = send(rig, ApiKey.LEADER_AND_ISR)
    rig.clock.ms += BROKER_REQUEST_WAIT_MS_MAX
    rig.turn_until(lambda: not rig.connections)
    assert client.recv(100) == b""
    assert not forwarded(rig)


def test_strangers_hold_a_bounded_number_of_requests(rig):
    for _ in range(BROKER_REQUESTS_HELD_MAX):
        send(rig, ApiKey.STOP_REPLICA)
    version = ACCEPTED[ApiKey.STOP_REPLICA][1]
    client = rig.connect()
    client.sendall(build_request(ApiKey.STOP_REPLICA, version, 7, "x", messages.StopReplicaRequest()))
    assert answer_of(rig, client, ApiKey.STOP_REPLICA, version).error_code == DENIED


def test_a_stranger_that_hangs_up_is_forgotten(rig):
    send(rig, ApiKey.STOP_REPLICA).close()
    rig.turn_until(lambda: not rig.connections)
    rig.turn()
    assert not rig.context.broker_requests.is_waiting


def test_the_check_can_be_turned_off(tmp_path):
    rig = Rig(tmp_path, {"headrace.broker.requests.any.address": "true"})
    try:
        register(rig, ELSEWHERE)
        send(rig, ApiKey.STOP_REPLICA)
        assert forwarded(rig) == 1
    finally:
        rig.close()


@pytest.fixture
def led(tmp_path):
    rig = FollowerRig(tmp_path)
    rig.put()
    yield rig
    rig.replicas.close()
    rig.close()


def move_away(rig):
    """All brokers are registered elsewhere."""
    view = rig.seat.view.view
    brokers = {node_id: broker._replace(host=ELSEWHERE) for node_id, broker in view.brokers.items()}
    rig.set_view(view._replace(version=view.version + 1, brokers=brokers))


@pytest.mark.parametrize("version", [11, 12, 17])
def test_a_stranger_fetches_as_no_follower(led, version):
    assert led.follower.one(version=version).error_code == 0
    led.told()
    move_away(led)
    assert led.follower.one(0, 1, version=version).error_code == DENIED
    assert led.told() == [], "its offset would move the high watermark"


def test_a_session_ends_for_who_is_a_stranger_now(led):
    led.follower.fetch(wanted())
    move_away(led)
    answer, _rows = led.follower.fetch()
    assert answer.error_code == DENIED


def test_a_stranger_lists_no_offsets_and_epochs_as_a_follower(led):
    offsets = messages.ListOffsetsRequest
    listed = offsets(
        replica_id=FOLLOWER,
        topics=[offsets.ListOffsetsTopic("t", [offsets.ListOffsetsPartition(0, EPOCH, -1)])],
    )
    epochs = messages.OffsetForLeaderEpochRequest
    ended = epochs(
        replica_id=FOLLOWER,
        topics=[epochs.OffsetForLeaderTopic("t", [epochs.OffsetForLeaderPartition(0, EPOCH, EPOCH)])],
    )
    for move, error in ((lambda: None, 0), (lambda: move_away(led), DENIED)):
        move()
        for key, version, request in ((ApiKey.LIST_OFFSETS, 7, listed), (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, ended)):
            client = led.connect()
            client.sendall(build_request(key, version, 7, "x", request))
            assert answer_of(led, client, key, version).topics[0].partitions[0].error_code == error
