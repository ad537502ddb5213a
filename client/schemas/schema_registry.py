"""A schema registry, asked by HTTP: the schema of an id, the latest of a subject; a schema registered, or looked up.

It blocks: programs of asyncio ask on a thread (`client/lookups.py`). An id's schema never changes, so a process keeps what it was given.
The latest of a subject is asked for each time.

Source: Confluent's Schema Registry API: /schemas/ids/{id}, /subjects/{subject}, /subjects/{subject}/versions;
`format=serialized` for Protobuf.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, NamedTuple

from headrace.backoff import pause_after
from headrace.client.schemas.failures import RegistryUnavailable, SchemaRefused, UnknownSchema
from headrace.limits import (
    DECODE_REASON_CHARS_MAX,
    REGISTRY_REFERENCES_MAX,
    REGISTRY_RESPONSE_BYTES_MAX,
    REGISTRY_SCHEMAS_MAX,
)

TIMEOUT_S = 10.0
ATTEMPTS = 3
PAUSE_FIRST_S = 0.2
PAUSE_MAX_S = 0.4
NOT_FOUND = 404
REFUSALS = (409, 422)  # not compatible; invalid
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"

_kept: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as it was registered; `references` are (name, schema), those they need first."""

    id: int
    type: str
    text: str
    references: tuple[tuple[str, str], ...]


class Reference(NamedTuple):
    """A schema that another one imports, as it was registered: the name in the import, and where it is."""

    name: str
    subject: str
    version: int


class Found(NamedTuple):
    """A schema that a subject has."""

    id: int
    version: int


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry's URL, https://user:password@host:port with credentials; they are never shown.

    authorization   the header's value, where the URL has no credentials
    context         of TLS; None: the system's
    timeout_s       of one attempt
    """

    url: str = field(repr=False)
    authorization: str = field(default="", repr=False)
    context: ssl.SSLContext | None = field(default=None, repr=False)
    timeout_s: float = TIMEOUT_S

    @property
    def shown(self) -> str:
        """The URL without credentials."""
        parts = urllib.parse.urlsplit(self.url)
        return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    def latest(self, subject: str, kind: str) -> RegisteredSchema:
        """The latest schema of a subject. raises UnknownSchema, RegistryUnavailable"""
        found = self._get(f"/subjects/{_quoted(subject)}/versions/latest", is_kept=False)
        return self.schema(_int_of(found, "id", self.shown), kind)

    def schema(self, schema_id: int, kind: str) -> RegisteredSchema:
        """The schema of an id, with what it refers to. raises UnknownSchema, RegistryUnavailable

        kind   AVRO, PROTOBUF or JSON; an id of another type is unknown
        """
        body = self._body(schema_id, kind)
        references: dict[str, str] = {}
        self._add_references(body, kind, references)
        return RegisteredSchema(schema_id, kind, body["schema"], tuple(references.items()))

    def register(self, subject: str, kind: str, text: str, references: Sequence[Reference] = ()) -> int:
        """The id of a schema, which is registered where the subject does not have it. raises SchemaRefused, RegistryUnavailable"""
        body = _body_of(kind, text, references)
        try:
            found = _asked(self, f"/subjects/{_quoted(subject)}/versions", body)
        except UnknownSchema as failure:  # of a path: no registry is there
            raise RegistryUnavailable(f"subject {subject!r}: {failure}") from None
        except SchemaRefused as failure:
            raise SchemaRefused(f"subject {subject!r}: {failure}") from None
        return _int_of(found, "id", self.shown)

    def lookup(self, subject: str, kind: str, text: str, references: Sequence[Reference] = ()) -> Found:
        """Where a subject has this schema. raises UnknownSchema, RegistryUnavailable"""
        body = _body_of(kind, text, references)
        try:
            found = _asked(self, f"/subjects/{_quoted(subject)}", body)
        except (UnknownSchema, SchemaRefused) as failure:
            raise UnknownSchema(f"subject {subject!r}: {failure}") from None
        return Found(_int_of(found, "id", self.shown), _int_of(found, "version", self.shown))

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
            try:
                name, subject, number = str(one["name"]), _quoted(str(one["subject"])), int(one["version"])
            except (TypeError, KeyError, ValueError):
                raise RegistryUnavailable(f"schema registry {self.shown}: an invalid reference: {one!r}") from None
            if name in found:
                continue
            if len(found) >= REGISTRY_REFERENCES_MAX:
                raise RegistryUnavailable(
                    f"schema registry {self.shown}: more than {REGISTRY_REFERENCES_MAX} references"
                )
            version = self._get(f"/subjects/{subject}/versions/{number}", is_kept=True)
            referred = self._body(_int_of(version, "id", self.shown), kind)
            self._add_references(referred, kind, found)
            found[name] = referred["schema"]

    def _get(self, path: str, is_kept: bool) -> dict[str, Any]:
        key = self.url + path
        if is_kept and key in _kept:
            return _kept[key]
        found = _asked(self, path)
        if is_kept:
            if len(_kept) >= REGISTRY_SCHEMAS_MAX:
                _kept.clear()
            _kept[key] = found
        return found


def registry_at(
    url: str, authorization: str = "", context: ssl.SSLContext | None = None, timeout_s: float = TIMEOUT_S
) -> SchemaRegistry:
    """raises   ValueError, for what is no HTTP URL"""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("registry must be an http:// or https:// URL")
    return SchemaRegistry(url, authorization, context, timeout_s)


def basic_authorization(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _asked(
    registry: SchemaRegistry, path: str, body: dict[str, Any] | None = None, sleep: Callable[[float], None] = time.sleep
) -> dict[str, Any]:
    """The response to a GET, or with a body to a POST; both may be repeated. raises UnknownSchema, SchemaRefused, RegistryUnavailable"""
    import urllib.request  # a quarter of what each planning process would import

    parts = urllib.parse.urlsplit(registry.url)
    request = urllib.request.Request(registry.shown + path, headers={"Accept": "application/json"})
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", CONTENT_TYPE)
    authorization = registry.authorization
    if parts.username is not None:
        authorization = basic_authorization(
            urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
        )
    if authorization:
        request.add_unredirected_header("Authorization", authorization)
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(pause_after(attempt, PAUSE_FIRST_S, PAUSE_MAX_S))
        try:
            with urllib.request.urlopen(request, timeout=registry.timeout_s, context=registry.context) as response:
                data = response.read(REGISTRY_RESPONSE_BYTES_MAX + 1)
            if len(data) > REGISTRY_RESPONSE_BYTES_MAX:
                raise RegistryUnavailable(
                    f"schema registry {registry.shown}{path}: over {REGISTRY_RESPONSE_BYTES_MAX} bytes"
                )
            found = json.loads(data)
        except urllib.error.HTTPError as failure:
            reason = str(failure)
            if failure.code < SERVER_ERROR and failure.code != TOO_MANY_REQUESTS:
                raise _refusal(registry, path, failure, body is not None) from None
        except (OSError, ValueError, HTTPException) as failure:  # URLError and a timeout are OSErrors
            reason = str(failure) or type(failure).__name__
        else:
            if isinstance(found, dict):
                return found
            reason = "not a JSON object"
    raise RegistryUnavailable(
        f"schema registry {registry.shown}{path} did not respond after {ATTEMPTS} attempts: {reason}"
    )


def _refusal(registry: SchemaRegistry, path: str, failure: urllib.error.HTTPError, is_post: bool) -> Exception:
    """What a status below 500 says."""
    said = f": {text}" if (text := _message_of(failure)) else ""
    if failure.code == NOT_FOUND:
        return UnknownSchema(
            f"schema registry {registry.shown} has no {path.partition('?')[0]}{said if is_post else ''}"
        )
    if is_post and failure.code in REFUSALS:
        return SchemaRefused(f"schema registry {registry.shown} rejected the schema{said or f': {failure}'}")
    return RegistryUnavailable(f"schema registry {registry.shown}{path}: {failure}{said}")


def _message_of(failure: urllib.error.HTTPError) -> str:
    """The registry's own words, where it has some."""
    try:
        said = json.loads(failure.read(REGISTRY_RESPONSE_BYTES_MAX))
    except (OSError, ValueError, HTTPException):
        return ""
    return str(said.get("message", ""))[:DECODE_REASON_CHARS_MAX] if isinstance(said, dict) else ""


def _body_of(kind: str, text: str, references: Sequence[Reference]) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": text}
    if kind != "AVRO":  # the default, which older registries don't take by name
        body["schemaType"] = kind
    if references:
        body["references"] = [one._asdict() for one in references]
    return body


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _int_of(body: dict[str, Any], name: str, shown: str) -> int:
    if type(body.get(name)) is not int:
        raise RegistryUnavailable(f"schema registry {shown}: a response without {name}")
    return int(body[name])
