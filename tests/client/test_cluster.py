"""A cluster through its protocol: offsets, directories, bytes; retries that end."""

import re
import socket
import threading

import pytest

from headrace.client import cluster as cluster_module
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import CLIENT_RETRIES_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import iterate_batches
from tests.support.fake_broker import CLUSTER_ID, FakeBroker


@pytest.fixture
def clicks(log):
    """Ten batches of ten records over two segments, a second apart."""
    name = log.create("clicks")
    for number in range(10):
        log.append(name, [(b"key", b"%03d" % index) for index in range(10)], timestamp_ms=1000 * number)
        if number == 4:
            log.roll(name)
    return name


@pytest.fixture
def cluster(broker):
    with Cluster(broker.address, timeout_s=30) as cluster:
        yield cluster


def test_metadata_names_the_cluster_its_brokers_and_leaders(clicks, cluster, broker):
    assert cluster.refresh(None) == ["clicks"]
    assert cluster.cluster_id == CLUSTER_ID
    assert cluster.brokers[0].port == broker.port
    assert cluster.partitions[clicks].leader == 0
    assert cluster.partitions[clicks].isr == (0,)


def test_a_topic_that_is_not_there_is_an_error_at_once(clicks, cluster):
    with pytest.raises(KafkaError, match="nowhere"):
        cluster.refresh(["nowhere"])


def test_the_next_bootstrap_server_is_asked_where_one_is_down(clicks, broker):
    with Cluster(f"127.0.0.1:1, {broker.address}", timeout_s=30) as cluster:
        assert cluster.refresh(["clicks"]) == ["clicks"]


@pytest.mark.parametrize("address", ["", "nohost", ":9092", "host:", "host:port"])
def test_an_address_without_host_or_port_is_refused(address):
    with pytest.raises(ValueError, match="bootstrap"):
        Cluster(address)


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(EARLIEST, 0), (LATEST, 100), (0, 0), (4001, 50), (9000, 90), (9001, -1)]
)
def test_offsets_of_edges_and_timestamps(clicks, cluster, timestamp, offset):
    assert cluster.offsets({clicks: timestamp}) == {clicks: offset}


def test_offsets_of_many_partitions_take_one_request(log, cluster, broker):
    names = [log.create("wide", partition) for partition in range(50)]
    assert cluster.offsets(dict.fromkeys(names, LATEST)) == dict.fromkeys(names, 0)
    assert broker.asked[ApiKey.LIST_OFFSETS] == 1


def test_log_directories_by_broker_and_partition(clicks, cluster, log):
    cluster.refresh(None)
    assert cluster.log_directories() == {(0, clicks): str(log.directory)}


@pytest.mark.parametrize(("start", "end"), [(0, 100), (0, 1), (37, 38), (49, 51), (95, 100), (20, 20)])
def test_fetch_yields_the_whole_batches_that_hold_a_range(clicks, cluster, start, end):
    offsets = [
        offset
        for data in cluster.fetch(clicks, start, end)
        for _position, header, _batch in iterate_batches(data)
        for offset in range(header.base_offset, header.last_offset + 1)
    ]
    assert set(range(start, end)) <= set(offsets)
    assert offsets == sorted(set(offsets))


def test_a_batch_that_the_fetch_size_cuts_is_fetched_again(clicks, cluster, monkeypatch, broker):
    monkeypatch.setattr(cluster_module, "FETCH_BYTES", 500)  # a batch and a half
    parts = [len(list(iterate_batches(data))) for data in cluster.fetch(clicks, 0, 100)]
    assert sum(parts) == 10
    assert broker.asked[ApiKey.FETCH] == len(parts) > 1


@pytest.mark.parametrize("api_key", [ApiKey.LIST_OFFSETS, ApiKey.METADATA])
def test_a_retriable_error_is_retried_with_fresh_metadata(clicks, cluster, broker, api_key):
    broker.fail[api_key, ErrorCode.LEADER_NOT_AVAILABLE] = 3
    assert cluster.offsets({clicks: LATEST}) == {clicks: 100}


def test_a_connection_lost_again_and_again_is_opened_again(clicks, cluster, broker):
    cluster.refresh(None)
    broker.drop_connections = 5
    assert cluster.offsets({clicks: LATEST}) == {clicks: 100}


def test_retries_end(clicks, cluster, broker):
    cluster.refresh(None)
    broker.fail[ApiKey.LIST_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER] = 1000
    with pytest.raises(KafkaError, match="clicks-0"):
        cluster.offsets({clicks: LATEST})
    assert broker.asked[ApiKey.LIST_OFFSETS] == CLIENT_RETRIES_MAX + 1


def test_a_final_error_is_not_retried(clicks, cluster, broker):
    cluster.refresh(None)
    broker.fail[ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE] = 1000
    with pytest.raises(KafkaError):
        list(cluster.fetch(clicks, 0, 100))
    assert broker.asked[ApiKey.FETCH] == 1


def test_a_fetch_that_stays_empty_below_its_end_is_an_error_not_a_hang(clicks, cluster, broker):
    with pytest.raises(KafkaError, match=r"clicks-0.*100"):
        list(cluster.fetch(clicks, 0, 101))


def test_all_brokers_gone(clicks, broker, log):
    with FakeBroker(log) as second, Cluster(second.address, timeout_s=30) as cluster:
        cluster.refresh(None)
        second.__exit__()
        with pytest.raises(ConnectionFailed, match="no broker responded"):
            cluster.offsets({TopicPartition("clicks", 0): LATEST})


def test_a_bootstrap_server_that_speaks_something_else_is_passed_over(clicks, broker):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n")

        threading.Thread(target=serve, daemon=True).start()
        servers = f"127.0.0.1:{listener.getsockname()[1]},{broker.address}"
        with Cluster(servers, timeout_s=30) as cluster:
            assert cluster.refresh(["clicks"]) == ["clicks"]


def test_an_error_code_of_a_later_kafka_is_an_error_of_ours(clicks, cluster, broker):
    broker.fail[ApiKey.LIST_OFFSETS, 9999] = 1
    with pytest.raises(KafkaError, match=r"UNKNOWN_SERVER_ERROR: clicks-0: error code 9999"):
        cluster.offsets({clicks: LATEST})


@pytest.mark.parametrize(
    "text", ["h:0", "h:65536", "h:99999", "h:²", "h:-1", "h", ":9092", "http://h:9092", "[::1", "a b:1"]
)
def test_an_address_that_can_not_be_is_named_and_nothing_is_asked(text):
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        Cluster(f"127.0.0.1:9092,{text}")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (" h:1", ("h", 1)),
        ("[::1]:9092", ("::1", 9092)),
        ("[fe80::1%eth0]:2", ("fe80::1%eth0", 2)),
        ("::1:65535", ("::1", 65535)),
    ],
)
def test_addresses_are_hosts_and_ports(text, address):
    assert Cluster(text)._bootstrap == [address]
