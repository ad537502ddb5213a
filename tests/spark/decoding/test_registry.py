"""The registry over HTTP: what is kept, retried, refused.

Holds: spark/decoding/wire_format.py
"""

import base64

import numpy as np
import pyarrow as pa
import pytest

from headrace.spark.decoding import registry as module
from headrace.spark.decoding.python_rows import BadRecord
from headrace.spark.decoding.registry import SchemaRegistry, UnknownSchema, registry_at
from headrace.spark.decoding.wire_format import check_unknown, message_indexes, schema_ids, unframed
from headrace.spark.errors import RegistryUnavailable
from tests.support.fake_registry import FakeRegistry


@pytest.fixture
def registry():
    with FakeRegistry() as fake:
        fake.add("types", 1, '"string"')
        fake.add("clicks-value", 2, '"long"', references=[("T", "types", 1)])
        yield fake


def test_an_id_is_asked_for_once(registry):
    client = registry_at(registry.url)
    for _ in range(3):
        found = client.schema(2, "AVRO")
    assert (found.text, found.references) == ('"long"', (("T", '"string"'),))
    assert registry.asked == ["/schemas/ids/2", "/subjects/types/versions/1", "/schemas/ids/1"]
    registry.add("clicks-value", 3, '"int"')
    assert [client.latest("clicks-value", "AVRO").id for _ in range(2)] == [3, 3]


def test_a_restarting_registry_is_waited_for(registry, monkeypatch):
    monkeypatch.setattr(module, "PAUSE_FIRST_S", 0.001)
    registry.failures = [503, 500]
    assert registry_at(registry.url).schema(1, "AVRO").text == '"string"'
    registry.failures = [500] * module.ATTEMPTS
    with pytest.raises(RegistryUnavailable, match="did not respond 3 times: HTTP Error 500"):
        registry_at(registry.url).latest("types", "AVRO")
    with pytest.raises(RegistryUnavailable, match="refused"):
        registry_at("http://127.0.0.1:1").schema(1, "AVRO")


def test_what_is_unknown_or_of_another_type(registry):
    client = registry_at(registry.url)
    for schema_id, kind, reason in (
        (99, "AVRO", "has no /schemas/ids/99"),
        (1, "PROTOBUF", "of type AVRO, expected PROTOBUF"),
    ):
        with pytest.raises(UnknownSchema, match=reason):
            client.schema(schema_id, kind)
    with pytest.raises(UnknownSchema, match="has no /subjects/none/versions/latest"):
        client.latest("none", "AVRO")
    registry.failures = [401]
    with pytest.raises(RegistryUnavailable, match="401"):
        client.latest("types", "AVRO")


def test_credentials_are_sent_and_never_shown(registry):
    url = registry.url.replace("http://", "http://me:se%2Fcret@")
    client = registry_at(url)
    client.schema(1, "AVRO")
    assert base64.b64decode(registry.auth.removeprefix("Basic ")) == b"me:se/cret"
    assert client.shown == registry.url
    assert "cret" not in repr(client)
    with pytest.raises(UnknownSchema) as failure:
        client.schema(99, "AVRO")
    assert "cret" not in str(failure.value)


@pytest.mark.parametrize("url", ["localhost:8081", "file:///etc/passwd", "ftp://host/", ""])
def test_only_http(url):
    with pytest.raises(ValueError, match="registry must be an http"):
        registry_at(url)
    assert SchemaRegistry("http://host/path/").shown == "http://host/path"


def test_headers_of_the_wire_format():
    values = pa.array([b"", b"\0\0\0\1\2x", None, b"\1\0\0\0\0", b"\0\0\0\0", b"\0\xff\xff\xff\xff"], pa.binary())
    for low in (0, 1):
        ids, bad = schema_ids(values.slice(low))
        assert ids.tolist() == [-1, 258, -1, -1, -1, 2**32 - 1][low:]
        assert sorted(bad) == [row - low for row in (0, 3, 4) if row >= low]
    rest, bad = unframed(values)
    assert rest.to_pylist() == [None, b"x", None, None, None, b""]
    assert schema_ids(pa.array([], pa.binary()))[0].tolist() == []
    assert schema_ids(pa.array([None, b""], pa.binary()))[0].dtype == np.int64


@pytest.mark.parametrize(
    ("data", "indexes", "position"),
    [(b"\0", (0,), 1), (b"\2\0", (0,), 2), (b"\4\2\6", (1, 3), 3), (b"\2\x80\1", (64,), 3)],
)
def test_paths_to_messages(data, indexes, position):
    assert message_indexes(b"\0\0\0\0\1" + data) == (indexes, 5 + position)


@pytest.mark.parametrize("data", [b"", b"\2", b"\x80", b"\1", b"\x7e" + bytes(63), b"\xff" * 9])
def test_paths_that_are_none(data):
    with pytest.raises(BadRecord, match="not the Confluent wire format"):
        message_indexes(b"\0\0\0\0\1" + data)


def test_many_unknown_ids_are_an_error():
    check_unknown(dict.fromkeys(range(20), "gone"))
    with pytest.raises(RegistryUnavailable, match="over 20 schema ids of one batch are unknown, such as 0"):
        check_unknown(dict.fromkeys(range(21), "gone"))
