"""Avro records without a file around them, read and written by fastavro; a reader's schema resolves what a writer's wrote.

Source: Avro 1.12 specification, binary encoding, schema resolution.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from headrace.client.schemas.failures import BadRecord, needs

try:
    import fastavro
    from fastavro import schemaless_reader, schemaless_writer
    from fastavro.read import SchemaResolutionError
    from fastavro.schema import SchemaParseException, UnknownType
except ImportError as failure:
    raise needs("fastavro", "avro", failure) from failure

INVALID: Final = (SchemaParseException, UnknownType, ValueError, KeyError, TypeError, AttributeError)
SHOWN_CHARS: Final = 80  # of a schema, in an error
_MALFORMED: Final = (EOFError, ValueError, LookupError, TypeError, OverflowError, ArithmeticError)
_NOT_OF_IT: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, struct.error)

References = tuple[tuple[str, str], ...]


def text_of(schema: str | Mapping[str, Any]) -> str:
    """A schema as JSON."""
    return schema if isinstance(schema, str) else json.dumps(schema)


@lru_cache(maxsize=1000)
def parsed(text: str, references: References = ()) -> Any:
    """A schema as fastavro has it; `references` are (name, schema) of types defined elsewhere, in order.

    raises   ValueError
    """
    return parse(text, references, {}, lambda schema: schema)


def parse(text: str, references: References, named: dict[str, Any], change: Callable[[Any], Any]) -> Any:
    """The same, each schema changed before it is parsed; `named` gets all named types. raises ValueError"""
    try:
        for _name, other in references:
            fastavro.parse_schema(change(json.loads(other)), named)
        return fastavro.parse_schema(change(json.loads(text)), named)
    except INVALID as failure:
        raise ValueError(
            f"Avro schema {text[:SHOWN_CHARS]!r} is invalid: {type(failure).__name__}: {failure}"
        ) from None


def name_of(schema: Any) -> str:
    """The full name of a record, an enum or a fixed; '' for other types."""
    return str(schema.get("name", "")) if isinstance(schema, dict) else ""


def reader_of(writer: Any, reader: Any = None, skipped_bytes: int = 0) -> Callable[[bytes], Any]:
    """What reads a record, which begins after `skipped_bytes`. It raises BadRecord.

    writer, reader   parsed; None: the writer's is the reader's
    """
    target = None if writer == reader else reader

    def read(record: bytes) -> Any:
        source = io.BytesIO(record)
        source.seek(skipped_bytes)
        try:
            found: Any = schemaless_reader(source, writer, target)
        except SchemaResolutionError as failure:
            raise BadRecord(f"its schema does not resolve to the reader's: {failure}") from None
        except _MALFORMED as failure:
            said = str(failure).partition(" from <")[0]  # the name of a stream, with its address
            raise BadRecord(f"not a record of the schema: {type(failure).__name__} {said}".rstrip()) from None
        if source.tell() != len(record):
            raise BadRecord(f"not a record of the schema: trailing bytes after it: {len(record) - source.tell()}")
        return found

    return read


def writer_of(schema: Any, header: bytes = b"") -> Callable[[Any], bytes]:
    """What writes a record after a header. A field that the schema does not have is an error: it would be lost. It raises ValueError."""
    shown = name_of(schema) or str(schema)[:SHOWN_CHARS]

    def write(value: Any) -> bytes:
        target = io.BytesIO()
        target.write(header)
        try:
            schemaless_writer(target, schema, value, strict_allow_default=True)
        except _NOT_OF_IT as failure:
            raise ValueError(
                f"a value of type {type(value).__name__} is not of the Avro schema {shown}: {failure}"
            ) from None
        return target.getvalue()

    return write
