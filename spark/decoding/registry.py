"""A schema registry, asked by HTTP: the schema of an id, the latest of a subject.

Runs in: Spark's driver (the reader's schema, at once), and the Python workers (the schemas that records were written with).
An id's schema never changes, so a worker keeps what it was given; the latest of a subject is asked for each time.

Source: Confluent's Schema Registry API: /schemas/ids/{id}, /subjects/{subject}/versions/{version}; `format=serialized` for Protobuf.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.limits import REGISTRY_REFERENCES_MAX, REGISTRY_RESPONSE_BYTES_MAX, REGISTRY_SCHEMAS_MAX
from headrace.spark.errors import RegistryUnavailable

TIMEOUT_S = 10.0
ATTEMPTS = 3
PAUSE_FIRST_S = 0.2
NOT_FOUND = 404
SERVER_ERROR = 500

_kept: dict[str, dict[str, Any]] = {}


class UnknownSchema(Exception):
    """The registry responds, and has no such id, subject or version."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as it was registered; `references` are (name, schema), those they need first."""

    id: int
    type: str
    text: str
    references: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry's URL, https://user:password@host:port with credentials; they are never shown."""

    url: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The URL without credentials."""
        parts = urllib.parse.urlsplit(self.url)
        return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    def latest(self, subject: str, kind: str) -> RegisteredSchema:
        """The latest schema of a subject. raises UnknownSchema, RegistryUnavailable"""
        found = self._get(f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/latest", is_kept=False)
        return self.schema(_int_of(found, "id", self.shown), kind)

    def schema(self, schema_id: int, kind: str) -> RegisteredSchema:
        """The schema of an id, with what it refers to. raises UnknownSchema, RegistryUnavailable

        kind   AVRO or PROTOBUF; an id of another type is unknown
        """
        body = self._body(schema_id, kind)
        references: dict[str, str] = {}
        self._add_references(body, kind, references)
        return RegisteredSchema(schema_id, kind, body["schema"], tuple(references.items()))

    def _body(self, schema_id: int, kind: str) -> dict[str, Any]:
        query = "?format=serialized" if kind == "PROTOBUF" else ""
        body = self._get(f"/schemas/ids/{schema_id}{query}", is_kept=True)
        found = body.get("schemaType", "AVRO")
        if found != kind:
            raise UnknownSchema(f"schema id {schema_id} is of type {found}, expected {kind}")
        if not isinstance(body.get("schema"), str):
            raise RegistryUnavailable(f"schema registry {self.shown}: schema id {schema_id} has no schema")
        return body

    def _add_references(self, body: dict[str, Any], kind: str, found: dict[str, str]) -> None:
        for one in body.get("references") or ():
            name, subject = str(one["name"]), urllib.parse.quote(str(one["subject"]), safe="")
            if name in found:
                continue
            if len(found) >= REGISTRY_REFERENCES_MAX:
                raise RegistryUnavailable(
                    f"schema registry {self.shown}: more than {REGISTRY_REFERENCES_MAX} references"
                )
            version = self._get(f"/subjects/{subject}/versions/{int(one['version'])}", is_kept=True)
            referred = self._body(_int_of(version, "id", self.shown), kind)
            self._add_references(referred, kind, found)
            found[name] = referred["schema"]

    def _get(self, path: str, is_kept: bool) -> dict[str, Any]:
        key = self.url + path
        if is_kept and key in _kept:
            return _kept[key]
        found = _fetched(self, path)
        if is_kept:
            if len(_kept) >= REGISTRY_SCHEMAS_MAX:
                _kept.clear()
            _kept[key] = found
        return found


def registry_at(url: str) -> SchemaRegistry:
    """raises   ValueError, for what is no HTTP URL"""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("registry must be an http:// or https:// URL")
    return SchemaRegistry(url)


def latest_of(registry: SchemaRegistry, subject: str, kind: str) -> RegisteredSchema:
    """raises   ValueError, for an unknown subject; RegistryUnavailable"""
    try:
        return registry.latest(subject, kind)
    except UnknownSchema as failure:
        raise ValueError(f"subject {subject!r}: {failure}") from None


def descriptor_bytes(text: str, what: str) -> bytes:
    """A Protobuf schema as the registry serializes it. raises ValueError"""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError(
            f"{what}: the registry returned .proto text instead of a serialized descriptor; give descriptor="
        ) from None


def _fetched(registry: SchemaRegistry, path: str, sleep: Callable[[float], None] = time.sleep) -> dict[str, Any]:
    """raises   UnknownSchema, RegistryUnavailable"""
    import urllib.request  # a quarter of what each planning process would import

    parts = urllib.parse.urlsplit(registry.url)
    request = urllib.request.Request(registry.shown + path, headers={"Accept": "application/json"})
    if parts.username is not None:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(PAUSE_FIRST_S * 2 ** (attempt - 1))
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                data = response.read(REGISTRY_RESPONSE_BYTES_MAX + 1)
            if len(data) > REGISTRY_RESPONSE_BYTES_MAX:
                raise RegistryUnavailable(
                    f"schema registry {registry.shown}{path}: over {REGISTRY_RESPONSE_BYTES_MAX} bytes"
                )
            found = json.loads(data)
        except urllib.error.HTTPError as failure:
            if failure.code == NOT_FOUND:
                raise UnknownSchema(f"schema registry {registry.shown} has no {path.partition('?')[0]}") from None
            if failure.code < SERVER_ERROR:
                raise RegistryUnavailable(f"schema registry {registry.shown}{path}: {failure}") from None
            reason = str(failure)
        except (OSError, ValueError) as failure:  # URLError and a timeout are OSErrors
            reason = str(failure)
        else:
            if isinstance(found, dict):
                return found
            reason = "not a JSON object"
    raise RegistryUnavailable(f"schema registry {registry.shown}{path} did not respond {ATTEMPTS} times: {reason}")


def _int_of(body: dict[str, Any], name: str, shown: str) -> int:
    if type(body.get(name)) is not int:
        raise RegistryUnavailable(f"schema registry {shown}: a response without {name}")
    return int(body[name])


def needs(package: str, extra: str, failure: ImportError) -> ImportError:
    """The error for a decoder whose package is not installed."""
    return ImportError(f"decoding {extra} needs the package {package}: pip install 'headrace[{extra}]' ({failure})")


def check_target(given: Sequence[object], registry: str | None, subject: str | None, schema: str) -> None:
    """Refuse combinations of a schema, a registry and a subject that make no sense. raises ValueError"""
    has_schema = any(one is not None for one in given)
    if subject is not None and registry is None:
        raise ValueError(f"subject {subject!r} needs a registry")
    if registry is None and not has_schema:
        raise ValueError(f"give {schema}, or registry and subject")
    if registry is not None and has_schema == (subject is not None):
        raise ValueError(f"with a registry give either subject, whose latest schema is read, or {schema}")
