"""The registry over HTTP: what is kept, retried, refused."""

import base64
import socket
import threading

import pytest

from headrace.client.schemas import schema_registry as module
from headrace.client.schemas.failures import RegistryUnavailable, SchemaRefused, UnknownSchema
from headrace.client.schemas.schema_registry import Found, Reference, SchemaRegistry, basic_authorization, registry_at
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
    with pytest.raises(RegistryUnavailable, match="did not respond after 3 attempts: HTTP Error 500"):
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


def test_a_schema_is_registered_once_and_looked_up(registry):
    client = registry_at(registry.url)
    made = client.register("orders-value", "JSON", "{}", [Reference("T", "types", 1)])
    assert made == client.register("orders-value", "JSON", "{}", [Reference("T", "types", 1)]) == 3
    assert client.lookup("orders-value", "JSON", "{}", [Reference("T", "types", 1)]) == Found(3, 1)
    assert client.register("a/b", "AVRO", '"string"') == 1
    paths = [path for path, _body in registry.posted]
    assert paths == ["/subjects/orders-value/versions"] * 2 + ["/subjects/orders-value", "/subjects/a%2Fb/versions"]
    assert registry.posted[0][1] == {
        "schema": "{}",
        "schemaType": "JSON",
        "references": [{"name": "T", "subject": "types", "version": 1}],
    }
    assert registry.posted[3][1] == {"schema": '"string"'}


def test_what_a_registry_refuses_is_said_in_its_words(registry):
    client = registry_at(registry.url)
    registry.refused.add("clicks-value")
    with pytest.raises(SchemaRefused, match=r"subject 'clicks-value': .*is incompatible for clicks-value"):
        client.register("clicks-value", "AVRO", '"int"')
    with pytest.raises(UnknownSchema, match=r"subject 'clicks-value': .*: Schema not found"):
        client.lookup("clicks-value", "AVRO", '"int"')
    registry.failures = [422]
    with pytest.raises(SchemaRefused, match="422"):
        client.register("types", "AVRO", "nonsense")
    registry.failures = [401]
    with pytest.raises(RegistryUnavailable, match="401"):
        client.register("types", "AVRO", '"int"')


def test_too_many_requests_are_waited_for(registry, monkeypatch):
    monkeypatch.setattr(module, "PAUSE_FIRST_S", 0.001)
    registry.failures = [429, 503]
    assert registry_at(registry.url).register("types", "AVRO", '"string"') == 1


def test_a_response_that_is_cut_off_is_asked_for_again(monkeypatch):
    """`http.client` raises what is no OSError then."""
    monkeypatch.setattr(module, "PAUSE_FIRST_S", 0.001)
    whole = b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"schema": "\\"long\\""}'
    responses = [whole[:-5], b"nonsense\r\n", whole]
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            for response in responses:
                connection, _address = server.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(response)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            assert registry_at(f"http://127.0.0.1:{server.getsockname()[1]}").schema(1, "AVRO").text == '"long"'
        finally:
            thread.join()


def test_a_reference_that_is_none_is_refused(registry):
    registry.schemas[2]["references"] = [{"name": "T"}]
    with pytest.raises(RegistryUnavailable, match="an invalid reference"):
        registry_at(registry.url + "/").schema(2, "AVRO")


def test_other_ways_to_authorize(registry):
    registry_at(registry.url, basic_authorization("me", "se:cret")).latest("types", "AVRO")
    assert base64.b64decode(registry.auth.removeprefix("Basic ")) == b"me:se:cret"
    client = registry_at(registry.url, "Bearer abc")
    client.latest("types", "AVRO")
    assert registry.auth == "Bearer abc"
    assert "abc" not in repr(client)
