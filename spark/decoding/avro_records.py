"""Avro: records without a file around them, plain or in Confluent's wire format.

Runs in: Spark's Python workers. Fields that are not asked for are skipped, not built. In the wire format each record is read
by the schema it was written with, from the registry, and resolved to the reader's. Flat schemas are walked by a kernel (`flat_avro.py`),
all records at once; fastavro reads, one at a time, those of other schemas, of writers whose schema differs from the reader's,
and those that the kernel does not find sound, to say what is wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from headrace.client.schemas.failures import BadRecord, UnknownSchema
from headrace.client.schemas.schema_registry import SchemaRegistry, registry_at
from headrace.client.schemas.wire_format import HEADER_BYTES, schema_id_of
from headrace.spark.decoding.decoder import Decoded, Decoder, arrow_types, prefixed, without_prefix
from headrace.spark.decoding.flat_avro import FlatAvro, flat_avro
from headrace.spark.decoding.python_rows import ReadRow, decode_rows
from headrace.spark.decoding.registry import check_target, latest_of
from headrace.spark.decoding.wire_format import check_unknown, schema_ids

if TYPE_CHECKING:
    from headrace.spark.decoding.avro_schema import AvroSchema

KIND = "AVRO"


@dataclass(frozen=True, slots=True)
class AvroDecoder(Decoder):
    """A reader's schema; with a registry, records are in the wire format."""

    schema: str
    references: tuple[tuple[str, str], ...] = ()
    registry: SchemaRegistry | None = None
    subject: str = ""
    prefix: str = ""

    def fields(self, source: str) -> StructType:
        fields = self._parsed().fields
        if not fields.names[0]:
            return StructType([StructField(self.prefix + source, fields.fields[0].dataType)])
        return prefixed(fields, self.prefix)

    def decode(self, values: pa.Array, names: Sequence[str], source: str = "value") -> Decoded:
        wanted = without_prefix(self.wanted(names, source), self.prefix)
        parsed = self._parsed()
        own = parsed.fields.names if parsed.fields.names[0] else [source]
        sources = [parsed.sources[own.index(name)] for name in wanted.names]
        reader = parsed.projected(wanted.names)
        kinds = arrow_types(wanted)
        columns = tuple(wanted.names) if parsed.fields.names[0] else ()
        flat = flat_avro(parsed.plain, columns, sources)

        def apart(records: Sequence[bytes | None]) -> Decoded:
            return decode_rows(records, _reading(parsed.plain, reader, columns), sources, kinds)

        if self.registry is None:
            return together(values, flat, apart, sources, kinds)
        return self._framed(values, flat, reader, columns, sources, kinds)

    def describe(self) -> str:
        where = "" if self.registry is None else f", registry {self.registry.shown} {self.subject}".rstrip()
        return f"avro({self.fields('value').simpleString()}{where})"

    def _parsed(self) -> AvroSchema:
        from headrace.spark.decoding.avro_schema import avro_schema

        return avro_schema(self.schema, self.references)

    def _framed(
        self,
        values: pa.Array,
        flat: FlatAvro | None,
        reader: Any,
        columns: tuple[str, ...],
        sources: Sequence[Any],
        kinds: Sequence[Any],
    ) -> Decoded:
        ids, _bad = schema_ids(values)
        readers: dict[int, ReadRow] = {}
        unknown: dict[int, str] = {}
        for schema_id in sorted(set(ids.tolist()) - {-1}):
            try:
                readers[schema_id] = self._writer(schema_id, reader, columns)
            except UnknownSchema as failure:
                unknown[schema_id] = str(failure)
                check_unknown(unknown)
        if len(readers) != 1 or unknown or not self._is_readers(next(iter(readers))):
            flat = None

        def apart(records: Sequence[bytes | None]) -> Decoded:
            return decode_rows(records, _by_id(readers, unknown), sources, kinds)

        return together(values, flat, apart, sources, kinds, HEADER_BYTES, ids)

    def _is_readers(self, schema_id: int) -> bool:
        """Whether records were written with the reader's schema. It is known: its reader was made."""
        from headrace.spark.decoding.avro_schema import avro_plain

        assert self.registry is not None
        found = self.registry.schema(schema_id, KIND)
        return bool(avro_plain(found.text, found.references) == self._parsed().plain)

    def _writer(self, schema_id: int, reader: Any, columns: tuple[str, ...]) -> ReadRow:
        from headrace.spark.decoding.avro_schema import avro_plain

        assert self.registry is not None
        found = self.registry.schema(schema_id, KIND)
        return _reading(avro_plain(found.text, found.references), reader, columns, HEADER_BYTES)


def together(
    values: pa.Array,
    flat: FlatAvro | None,
    apart: Callable[[Sequence[bytes | None]], Decoded],
    sources: Sequence[Any],
    kinds: Sequence[Any],
    skipped_bytes: int = 0,
    ids: Any = None,
) -> Decoded:
    """All records by the kernel, if there is one for their schema; what it does not find sound, one by one.

    ids   of the records' schemas, -1 where there is none
    """
    walked = None if flat is None else flat.columns(values, sources, skipped_bytes)
    if walked is None:
        return apart(values.to_pylist())
    found, is_sound = walked
    if ids is not None:
        is_sound[(ids < 0) & values.is_valid().to_numpy(zero_copy_only=False)] = 0
    try:
        columns = [column.cast(kind) for column, kind in zip(found, kinds, strict=True)]
    except pa.ArrowInvalid:
        return apart(values.to_pylist())
    rows = np.flatnonzero(is_sound == 0)
    if not len(rows):
        return Decoded(columns, {})
    few = apart(values.take(pa.array(rows)).to_pylist())
    mask = pa.array(is_sound == 0)
    columns = [pc.replace_with_mask(column, mask, own) for column, own in zip(columns, few.columns, strict=True)]
    return Decoded(columns, {int(rows[row]): reason for row, reason in few.reasons.items()})


def avro(
    schema: str | Mapping[str, Any] | None = None,
    *,
    registry: str | None = None,
    subject: str | None = None,
    prefix: str = "",
) -> AvroDecoder:
    """Avro records into columns: the fields of a record, or for another type one column called `value` (or `key`).

    schema     the reader's, as JSON text or a dict; without a registry also the writer's, of plain records
    registry   URL of a schema registry (user:password@ in it for basic authentication): records are in the Confluent wire format
    subject    such as "clicks-value": its latest schema, asked for now, is the reader's
    prefix     put before the columns' names
    raises     ValueError; RegistryUnavailable; ImportError, if fastavro is not installed
    """
    from headrace.spark.decoding import avro_schema

    check_target([schema], registry, subject, "schema")
    found = None if registry is None else registry_at(registry)
    if schema is not None:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        made = AvroDecoder(text, registry=found, prefix=prefix)
    else:
        assert found is not None
        assert subject is not None
        latest = latest_of(found, subject, KIND)
        made = AvroDecoder(latest.text, latest.references, found, subject, prefix)
    avro_schema.avro_schema(made.schema, made.references)
    return made


def _reading(writer: Any, reader: Any, columns: tuple[str, ...], skipped_bytes: int = 0) -> ReadRow:
    """What reads one record; without columns the record is the value of the only one."""
    from headrace.client.schemas.avro_codec import reader_of

    whole = reader_of(writer, reader, skipped_bytes)

    def read(record: bytes) -> Sequence[Any]:
        found = whole(record)
        return [found[name] for name in columns] if columns else (found,)

    return read


def _by_id(readers: Mapping[int, ReadRow], unknown: Mapping[int, str]) -> ReadRow:
    """What reads a record by the id in it."""

    def read(record: bytes) -> Sequence[Any]:
        schema_id = schema_id_of(record)
        if schema_id in unknown:
            raise BadRecord(unknown[schema_id])
        return readers[schema_id](record)

    return read
