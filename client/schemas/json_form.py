"""JSON in a registry: the wire format's header, then JSON as `Json` writes it. The schema is that of the type (msgspec).

To read, the registry is not asked: the type checks what it decodes.

Source: Confluent's JSON Schema serializer; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from headrace.client.schemas.failures import BadRecord
from headrace.client.schemas.form import Import
from headrace.client.schemas.schema_registry import RegisteredSchema
from headrace.client.schemas.wire_format import HEADER_BYTES, header_of, schema_id_of
from headrace.client.serializers import Json

T = TypeVar("T")


class JsonForm(Generic[T]):
    """A type and its schema.

    schema   in place of the type's own
    raises   ValueError, TypeError, for a type that has no schema
    """

    kind = "JSON"
    imports: tuple[Import, ...] = ()
    asks_to_read = False

    def __init__(self, kind: Any, schema: str | Mapping[str, Any] | None = None) -> None:
        self._json: Json[T] = Json(kind)
        if schema is None:
            self.text = json.dumps(schema_of(kind))
        else:
            self.text = schema if isinstance(schema, str) else json.dumps(schema)
        try:
            said = json.loads(self.text)
        except ValueError as failure:
            raise ValueError(f"JSON schema {self.text[:80]!r} is invalid: {failure}") from None
        self.name = str(said.get("title", "")) if isinstance(said, dict) else ""

    def writer(self, schema_id: int, _schema: RegisteredSchema | None) -> Callable[[T], bytes]:
        header, one = header_of(schema_id), self._json
        return lambda value: header + one.serialize("", value)

    def reader(self, _schema: RegisteredSchema | None) -> Callable[[bytes], T]:
        one = self._json

        def read(record: bytes) -> T:
            schema_id_of(record)
            try:
                return one.deserialize("", record[HEADER_BYTES:])
            except msgspec.DecodeError as failure:
                raise BadRecord(str(failure)) from None

        return read


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type; of a named one itself, not a reference to it. raises TypeError"""
    found = msgspec.json.schema(kind)
    named = found.get("$ref", "").removeprefix("#/$defs/")
    if not named or named not in found.get("$defs", {}):
        return found
    others = {name: one for name, one in found["$defs"].items() if name != named}
    own: dict[str, Any] = dict(found["$defs"][named])
    if json.dumps(found["$defs"]).count(f'"#/$defs/{named}"'):  # of itself, or of what it has
        return {**found, "title": own.get("title", named)}
    return {**own, "$defs": others} if others else own
