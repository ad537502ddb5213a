"""A serializer in the wire format: the id of its schema before each record, from a registry that is asked once for each.

    serialize     topic -> subject -> id, by registering, looking up, or taking the latest     once for each topic
    deserialize   id -> the schema that the record was written with -> what reads it           once for each id

Where it may not block it raises LookupNeeded, and the client asks on a thread. What the registry does not know is remembered for
UNKNOWN_KEPT_S: a topic of other bytes would ask for an id with every record.

Source: Confluent's AbstractKafkaSchemaSerDe.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from headrace.client.lookups import LookupNeeded
from headrace.client.schemas.failures import BadRecord, RegistryUnavailable, UnknownSchema
from headrace.client.schemas.form import Form, Import
from headrace.client.schemas.schema_registry import Reference, RegisteredSchema, SchemaRegistry
from headrace.client.schemas.subjects import subject_of
from headrace.client.schemas.wire_format import schema_id_of
from headrace.client.serializers import Part
from headrace.limits import REGISTRY_REFERENCES_MAX, REGISTRY_SCHEMAS_MAX

T = TypeVar("T")

LATEST_KEPT_S: Final = 300.0  # as metadata.max.age.ms
LATEST_RETRY_S: Final = 10.0  # after a registry did not respond; the schema that is known stays in use
UNKNOWN_KEPT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Writing:
    """How the schema of a record is found.

    auto_register   whether it is registered, else it has to be there
    use_latest      whether it is the latest of the subject instead
    strategy        of subjects' names
    """

    auto_register: bool
    use_latest: bool
    strategy: str


class _Writer(NamedTuple):
    write: Callable[[Any], bytes]
    until_s: float


class Registered(Generic[T]):
    """Values of one form. Any threads may share it.

    part        of the records; a client says which
    may_block   whether it asks the registry itself, else it raises LookupNeeded
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        form: Form[T],
        writing: Writing,
        subject: str | None = None,
        part: Part = "value",
        may_block: bool = True,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        if subject is None and writing.strategy != "TopicNameStrategy" and form.text is not None and not form.name:
            raise ValueError(f"subject.name.strategy: {writing.strategy}: the schema has no name")
        self._registry = registry
        self._form = form
        self._writing = writing
        self._subject = subject
        self._part = part
        self._may_block = may_block
        self._clock_s = clock_s
        self._writers: dict[str, _Writer] = {}  # by topic
        self._readers: dict[int, Callable[[bytes], T]] = {}  # by schema id
        self._unknown: dict[
            int, tuple[str, float]
        ] = {}  # ids that the registry does not have, or not of this form, and until when

    def __repr__(self) -> str:
        return f"<{self._form.kind} of {self._registry.shown}>"

    def bind(self, part: Part, may_block: bool) -> Registered[T]:
        """The same, for keys or for values."""
        return Registered(self._registry, self._form, self._writing, self._subject, part, may_block, self._clock_s)

    def serialize(self, topic: str, value: T) -> bytes:
        """raises   ValueError, TypeError, for a value that is not of the schema; UnknownSchema, SchemaRefused, RegistryUnavailable"""
        writer = self._writers.get(topic)
        if writer is None or self._clock_s() >= writer.until_s:
            if not self._may_block:
                what = f"schema of topic {topic} at registry {self._registry.shown}"
                raise LookupNeeded((id(self), topic), what, lambda: self._learn_writer(topic))
            writer = self._learn_writer(topic)
        return writer.write(value)

    def deserialize(self, _topic: str, data: bytes) -> T:
        """raises   BadRecord; RegistryUnavailable"""
        schema_id = schema_id_of(data) if self._form.asks_to_read else 0
        read = self._readers.get(schema_id)
        if read is None:
            read = self._reader(schema_id)
        return read(data)

    # Reading

    def _reader(self, schema_id: int) -> Callable[[bytes], T]:
        if not self._form.asks_to_read:
            read = self._readers[schema_id] = self._form.reader(None)
            return read
        unknown = self._unknown.get(schema_id)
        if unknown is not None and self._clock_s() < unknown[1]:
            raise BadRecord(unknown[0])
        if not self._may_block:
            what = f"schema id {schema_id} of registry {self._registry.shown}"
            raise LookupNeeded((id(self), schema_id), what, lambda: self._learn_reader(schema_id))
        found = self._learn_reader(schema_id)
        if isinstance(found, str):
            raise BadRecord(found)
        return found

    def _learn_reader(self, schema_id: int) -> Callable[[bytes], T] | str:
        """What reads records of an id; why there is nothing, where the registry says so. raises RegistryUnavailable"""
        try:
            schema = self._registry.schema(schema_id, self._form.kind)
            read = self._form.reader(schema)
        except (UnknownSchema, ValueError) as failure:
            _make_room(self._unknown)
            self._unknown[schema_id] = (str(failure), self._clock_s() + UNKNOWN_KEPT_S)
            return str(failure)
        _make_room(self._readers)
        self._readers[schema_id] = read
        return read

    # Writing

    def _learn_writer(self, topic: str) -> _Writer:
        """Ask for the id of a topic's schema. raises ValueError, UnknownSchema, SchemaRefused, RegistryUnavailable"""
        known = self._writers.get(topic)
        try:
            schema_id, schema = self._schema_of(topic)
        except RegistryUnavailable:
            if known is None:
                raise
            made = self._writers[topic] = _Writer(known.write, self._clock_s() + LATEST_RETRY_S)
            return made
        until_s = self._clock_s() + LATEST_KEPT_S if schema is not None else float("inf")
        _make_room(self._writers)
        made = self._writers[topic] = _Writer(self._form.writer(schema_id, schema), until_s)
        return made

    def _schema_of(self, topic: str) -> tuple[int, RegisteredSchema | None]:
        """The id that records are to have, and the schema, where it is not the form's own."""
        form = self._form
        subject = self._subject or subject_of(self._writing.strategy, topic, self._part, form.name)
        if self._writing.use_latest:
            try:
                latest = self._registry.latest(subject, form.kind)
            except UnknownSchema as failure:
                raise UnknownSchema(f"subject {subject!r}: {failure}") from None
            return latest.id, latest
        if form.text is None:
            raise ValueError(f"subject {subject!r}: writing records needs a schema: give a schema, or use_latest")
        references = self._references(form.imports)
        if self._writing.auto_register:
            return self._registry.register(subject, form.kind, form.text, references), None
        try:
            return self._registry.lookup(subject, form.kind, form.text, references).id, None
        except UnknownSchema as failure:
            raise UnknownSchema(f"{failure} (auto_register is off: register it first)") from None

    def _references(self, imports: Sequence[Import]) -> tuple[Reference, ...]:
        """What a schema imports, registered under its own name, or looked up."""
        found: dict[str, Reference] = {}
        return tuple(self._reference(one, found) for one in imports)

    def _reference(self, one: Import, found: dict[str, Reference]) -> Reference:
        if one.name in found:
            return found[one.name]
        if len(found) >= REGISTRY_REFERENCES_MAX:
            raise ValueError(f"schema {self._form.name}: more than {REGISTRY_REFERENCES_MAX} imports")
        own = tuple(self._reference(each, found) for each in one.imports)
        if self._writing.auto_register:
            self._registry.register(one.name, self._form.kind, one.text, own)
        version = self._registry.lookup(one.name, self._form.kind, one.text, own).version
        made = found[one.name] = Reference(one.name, one.name, version)
        return made


def _make_room(kept: dict[Any, Any]) -> None:
    """A serializer keeps a bounded number; the rest is asked for again."""
    if len(kept) >= REGISTRY_SCHEMAS_MAX:
        kept.clear()
