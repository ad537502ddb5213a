"""The JSON as Kafka writes and reads it: compared field by field, because Kafka's maps have no order."""

import json
import re

import pytest

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState, Registration, TopicAssignment

TOPIC_ID = "64e2ebf4-22cd-4234-b6ef-48721f1e9d05".replace("-", "")


def test_a_broker_registers_in_version_5():
    assert json.loads(znodes.encode_broker("host", 9092, None, 1719917952131)) == {
        "features": {},
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "endpoints": ["PLAINTEXT://host:9092"],
        "jmx_port": -1,
        "port": 9092,
        "host": "host",
        "version": 5,
        "timestamp": "1719917952131",
    }


def test_a_rack_stands_in_the_registration_only_where_there_is_one():
    assert json.loads(znodes.encode_broker("host", 9092, "r1", 0))["rack"] == "r1"
    assert "rack" not in json.loads(znodes.encode_broker("host", 9092, None, 0))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"version": 1, "host": "h", "port": 9, "jmx_port": -1}, ("h", 9, None)),
        ({"version": 2, "host": "h", "port": 9, "endpoints": ["PLAINTEXT://e:8"]}, ("e", 8, None)),
        ({"version": 4, "host": None, "port": -1, "endpoints": ["SSL://e:7", "PLAINTEXT://e:8"]}, ("e", 8, None)),
        (
            {
                "version": 5,
                "host": "e",
                "port": 8,
                "rack": "r",
                "endpoints": ["OUT://o:7", "IN://i:8"],
                "listener_security_protocol_map": {"OUT": "SASL_SSL", "IN": "PLAINTEXT"},
            },
            ("i", 8, "r"),
        ),
        ({"version": 5, "host": None, "port": -1, "endpoints": ["SSL://only:7"]}, ("only", 7, None)),
        ({"version": 5, "host": "::1", "port": 8, "endpoints": ["PLAINTEXT://[::1]:8"]}, ("::1", 8, None)),
    ],
    ids=["version 1", "version 2", "plaintext before SSL", "by the map", "only SSL", "IPv6"],
)
def test_registrations_of_every_version_are_read(fields, expected):
    assert znodes.decode_broker(4, json.dumps(fields).encode())[:4] == (4, *expected)


def test_all_endpoints_of_a_broker_are_read_but_those_of_protocols_that_are_unknown():
    fields = {
        "endpoints": ["OUT://o:7", "IN://[::1]:8", "SSL://s:9", "ODD://x:1"],
        "listener_security_protocol_map": {"OUT": "SASL_SSL", "IN": "PLAINTEXT", "ODD": "CARRIER_PIGEON"},
    }
    assert znodes.decode_broker(4, json.dumps(fields).encode()).endpoints == (
        ("OUT", 3, "o", 7),
        ("IN", 0, "::1", 8),
        ("SSL", 1, "s", 9),
    )
    assert znodes.decode_broker(4, b'{"host":"h","port":9}').endpoints == (("PLAINTEXT", 0, "h", 9),)
    odd = znodes.decode_broker(4, b'{"endpoints":["ODD://x:1"]}')
    assert (odd.host, odd.port, odd.endpoints) == ("x", 1, ())


def test_changes_of_isrs_are_read_as_they_are_written():
    partitions = [("a", 1), ("b", 0)]
    assert znodes.decode_isr_change("", znodes.encode_isr_change(partitions)) == partitions
    for data in (b"", b"[]", b'{"partitions":[{"topic":"t"}]}', b'{"partitions":[{"topic":"t","partition":"x"}]}'):
        with pytest.raises(znodes.BadZnode):
            znodes.decode_isr_change("", data)


def test_an_ipv6_registration_survives_its_own_encoding():
    decoded = znodes.decode_broker(1, znodes.encode_broker("::1", 9092, None, 0), 7)
    assert decoded == Registration(1, "::1", 9092, None, 7, (("PLAINTEXT", 0, "::1", 9092),))


def test_a_topic_is_written_in_version_3_with_its_id():
    data = znodes.encode_topic(TopicAssignment(TOPIC_ID, ((0, 1), (1, 0))))
    assert json.loads(data) == {
        "removing_replicas": {},
        "partitions": {"0": [0, 1], "1": [1, 0]},
        "topic_id": "ZOLr9CLNQjS270hyHx6dBQ",
        "adding_replicas": {},
        "version": 3,
    }
    assert znodes.decode_topic("t", data) == TopicAssignment(TOPIC_ID, ((0, 1), (1, 0)))


def test_a_topic_from_before_ids_is_read():
    assert znodes.decode_topic("t", b'{"version":1,"partitions":{"0":[5]}}') == TopicAssignment("", ((5,),))


def test_more_than_ten_partitions_stand_in_order_of_their_numbers():
    replicas = tuple((index,) for index in range(12))
    assert znodes.decode_topic("t", znodes.encode_topic(TopicAssignment(TOPIC_ID, replicas))).replicas == replicas


def test_a_partition_state_goes_both_ways():
    data = znodes.encode_state(PartitionState(1, 2, (1, 3), 7))
    assert json.loads(data) == {"controller_epoch": 7, "leader": 1, "version": 1, "leader_epoch": 2, "isr": [1, 3]}
    assert znodes.decode_state("/s", data, 4) == PartitionState(1, 2, (1, 3), 7, 4)


def test_the_controller_is_written_in_version_2():
    data = znodes.encode_controller(3, 1719917952299)
    assert json.loads(data) == {
        "version": 2,
        "brokerid": 3,
        "timestamp": "1719917952299",
        "kraftControllerEpoch": -1,
    }
    assert znodes.decode_controller(b'{"version":1,"brokerid":8,"timestamp":"1"}') == 8


def test_the_cluster_id_says_its_version_as_text():
    data = znodes.encode_cluster_id("Sfr7YvlkRHSHrmSrwq9mug")
    assert json.loads(data) == {"version": "1", "id": "Sfr7YvlkRHSHrmSrwq9mug"}
    assert znodes.decode_cluster_id(data) == "Sfr7YvlkRHSHrmSrwq9mug"


def test_a_producer_id_block_says_its_ends_as_texts():
    data = znodes.encode_producer_id_block(2, 5000, 5999)
    assert json.loads(data) == {"version": 1, "broker": 2, "block_start": "5000", "block_end": "5999"}
    assert znodes.decode_producer_id_block(data) == 6000
    assert znodes.decode_producer_id_block(b"") == 0


def test_overrides_go_both_ways_and_an_empty_node_has_none():
    assert znodes.decode_config("/c", znodes.encode_config({"retention.ms": "5"})) == {"retention.ms": "5"}
    assert znodes.decode_config("/c", b"") == {}


def test_ids_are_22_characters_and_never_look_like_an_option():
    for _ in range(500):
        text = znodes.encode_uuid(znodes.new_uuid())
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", text)
        assert znodes.encode_uuid(znodes.decode_uuid(text)) == text


GARBAGE = [b"", b"{", b"[]", b"7", b"null", b"{}", b'{"partitions":[]}', b"\xff", b'{"partitions":{"1":[0]}}']


@pytest.mark.parametrize("data", GARBAGE)
def test_what_people_type_into_a_shell_is_a_bad_znode_and_no_crash(data):
    for decode in (
        lambda: znodes.decode_topic("t", data),
        lambda: znodes.decode_state("/s", data, 0),
        lambda: znodes.decode_controller(data),
        lambda: znodes.decode_cluster_id(data),
    ):
        with pytest.raises(BadZnode):
            decode()


def test_a_topic_id_of_another_length_is_bad():
    with pytest.raises(BadZnode, match="not a UUID"):
        znodes.decode_topic("t", b'{"version":3,"partitions":{"0":[0]},"topic_id":"QUJD"}')


@pytest.mark.parametrize("data", [b"[]", b"{", b'{"config":7}'])
def test_bad_overrides_are_a_bad_znode(data):
    with pytest.raises(BadZnode):
        znodes.decode_config("/config/topics/t", data)


def test_the_paths_of_a_topic():
    assert znodes.state_path("t", 3) == "/brokers/topics/t/partitions/3/state"
    assert znodes.topic_config_path("t") == "/config/topics/t"
    assert znodes.delete_topic_path("t") == "/admin/delete_topics/t"


@pytest.mark.parametrize(
    "fields", [{"rack": 5}, {"port": 1 << 16}, {"port": -2}, {"endpoints": ["PLAINTEXT://a:99999"]}]
)
def test_a_registration_that_no_client_could_be_told_is_bad(fields):
    with pytest.raises(BadZnode):
        znodes.decode_broker(1, json.dumps({"host": "h", "port": 1, **fields}).encode())


@pytest.mark.parametrize("number", [2**31, -2, 1e400])
def test_numbers_that_no_row_holds_are_bad(number):
    state = {"leader": 1, "leader_epoch": 1, "isr": [1]}
    for key, value in (("leader", number), ("leader_epoch", number), ("isr", [number])):
        with pytest.raises(BadZnode):
            znodes.decode_state("/state", json.dumps({**state, key: value}).encode(), 0)
    with pytest.raises(BadZnode):
        znodes.decode_topic("t", json.dumps({"partitions": {"0": [number]}}).encode())


@pytest.mark.parametrize("name", ["x" * 250, "a b", "\u00fc", "..", "a\n"])
def test_a_topic_whose_name_can_be_no_directory_is_bad(name):
    with pytest.raises(BadZnode, match="not a topic name"):
        znodes.decode_topic(name, b'{"partitions":{"0":[1]}}')


def test_a_node_nested_without_end_is_bad():
    with pytest.raises(BadZnode):
        znodes.decode_config("/config", b"[" * 200_000)
