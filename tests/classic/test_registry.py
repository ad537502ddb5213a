"""Z1, Z2, Z3, Z7: paths and data of the registry, as 0.7 and as 0.8 to 0.10 wrote them."""

import json

import pytest

from headrace.classic import registry
from headrace.classic.registry import BLACK_LIST, STATIC, WHITE_LIST, BadRegistration, Registration


def test_paths_z1_z2_z3():
    assert registry.id_path("g", "c") == "/consumers/g/ids/c"
    assert registry.owner_path("g", "t", 3) == "/consumers/g/owners/t/3"
    assert registry.owner_path("g", "t", "1-0") == "/consumers/g/owners/t/1-0"
    assert registry.offset_path("g", "t", 3) == "/consumers/g/offsets/t/3"
    assert registry.state_path("t", 3) == "/brokers/topics/t/partitions/3/state"
    assert (registry.ids_path("g"), registry.owners_path("g", "t")) == ("/consumers/g/ids", "/consumers/g/owners/t")
    assert (registry.broker_path(1), registry.topic_path("t")) == ("/brokers/ids/1", "/brokers/topics/t")
    assert registry.offsets_path("g", "t") == "/consumers/g/offsets/t"


@pytest.mark.parametrize(
    "one", [Registration({"a": 1, "b": 2}), Registration({"a.*": 3}, WHITE_LIST), Registration({"b": 1}, BLACK_LIST)]
)
def test_a_registration_is_read_as_it_was_written_z1(one):
    data = registry.encode_registration(one, 1_400_000_000_000)
    assert registry.decode_registration(data, "/x") == one
    fields = json.loads(data)
    assert (fields["version"], fields["timestamp"], set(fields)) == (
        1,
        "1400000000000",
        {"version", "subscription", "pattern", "timestamp"},
    )


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{ "clicks": 4, "views": 1 }', Registration({"clicks": 4, "views": 1}, STATIC)),
        (b"*2*cl.*", Registration({"cl.*": 2}, WHITE_LIST)),
        (b"!1!cl.*", Registration({"cl.*": 1}, BLACK_LIST)),
    ],
)
def test_registrations_of_0_7_are_read_z1(data, found):
    assert registry.decode_registration(data, "/x") == found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"a": 0}',
        b'{"a": "1"}',
        b'{"subscription": {"a": 1}, "pattern": "odd"}',
        b'{"subscription": {"a": 1, "b": 1}, "pattern": "white_list"}',
        b'{"subscription": 3}',
    ],
)
def test_what_is_no_registration_is_refused_with_its_path(data):
    with pytest.raises(BadRegistration, match="/consumers/g/ids/c"):
        registry.decode_registration(data, "/consumers/g/ids/c")


@pytest.mark.parametrize(
    "data",
    [
        b"kafka7:9092",
        b"kafka7-1300000000000:kafka7:9092",
        b'{"jmx_port":-1,"timestamp":"1","host":"kafka7","version":1,"port":9092}',
        b'{"host":null,"port":-1,"endpoints":["SSL://other:1","PLAINTEXT://kafka7:9092"],"version":4}',
    ],
)
def test_brokers_of_every_generation_are_read_z7(data):
    assert registry.decode_broker(data, "/x") == ("kafka7", 9092)


@pytest.mark.parametrize("data", [b"kafka7", b"{}", b'{"host":null,"port":-1,"endpoints":["SSL://a:1"]}', b"{"])
def test_a_broker_without_an_address_is_refused(data):
    with pytest.raises(BadRegistration, match="/brokers/ids/7"):
        registry.decode_broker(data, "/brokers/ids/7")


def test_topics_of_0_7_are_counts_by_broker_z7():
    counts = {broker: registry.decode_count_07(data, "/x") for broker, data in ((10, b"2"), (2, b"1"))}
    assert registry.broker_partitions_07(counts) == [(2, 0), (10, 0), (10, 1)]
    assert registry.decode_partition_07("10-1", "/x") == (10, 1)
    with pytest.raises(BadRegistration, match="not a number of partitions"):
        registry.decode_count_07(b"x", "/x")
    with pytest.raises(BadRegistration, match="not broker-partition"):
        registry.decode_partition_07("7", "/x")


def test_topics_leaders_offsets():
    assert registry.decode_topic(b'{"version":1,"partitions":{"1":[1,2],"0":[2]}}', "/x") == {1: (1, 2), 0: (2,)}
    assert registry.decode_leader(b'{"leader":-1,"isr":[]}', "/x") == -1
    assert registry.decode_offset(b"12", "/x") == 12
    for decode, data in (
        (registry.decode_topic, b'{"partitions":[1]}'),
        (registry.decode_topic, b"{}"),
        (registry.decode_leader, b'{"leader":"x"}'),
        (registry.decode_offset, b"-1"),
        (registry.decode_offset, b"ten"),
    ):
        with pytest.raises(BadRegistration):
            decode(data, "/x")
