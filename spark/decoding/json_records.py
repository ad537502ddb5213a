"""JSON: where fields are flat, records are walked by the kernel (`flat_json.py`); the others, and those that it leaves, are joined by
newlines and parsed together by pyarrow.json, a record each.

Runs in: Spark's Python workers, task workers of a load. A call of pyarrow's costs 100 microseconds, a record in it 0.3; but no record's
bytes may get into its neighbour's row. So a record must begin with `{` and end with `}`: then `}` newline `{` between two of them can
only be the end of one document and the beginning of the next (within a document a comma has to be there, and a string holds no
newline), each record gives one row or more, and as many rows as records means one each. Where the count or the grammar does
not fit, records are parsed apart (`decoder.isolate`). Fields that are not read are checked for grammar and UTF-8, not for
their types.

What is not as in Spark's from_json: a string column takes strings alone (no number, no nested object as text), a duplicate of
a column that is read makes the record bad, timestamps without a zone are UTC, an empty value is bad.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from pyspark.sql.types import StructType

from headrace.spark.decoding.decoder import (
    BYTES_TOGETHER,
    ROWS_APART,
    Decoded,
    Decoder,
    Refused,
    arrow_types,
    concatenated,
    cut,
    isolate,
    prefixed,
    without_prefix,
)
from headrace.spark.decoding.flat_json import FlatJson, flat_json
from headrace.spark.decoding.json_mismatch import Check, check_of, mismatch
from headrace.spark.decoding.spark_types import arrow_type, names_within, struct_of
from headrace.spark.decoding.wire_format import unframed

_EMPTY = b"{}"
_SPACE = b" \t\r\n"
_ROW = re.compile(r" in row (\d+)$")
_KIND = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+)")
_CONVERSION = re.compile(r"Failed to convert JSON to ([^,]+), couldn't parse:\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonDecoder(Decoder):
    """An object a record; missing fields are null, fields that the schema lacks are passed over.

    confluent   records begin with the registry's five bytes, which are taken off
    """

    schema: StructType
    prefix: str = ""
    confluent: bool = False

    def fields(self, source: str) -> StructType:
        return prefixed(self.schema, self.prefix)

    def decode(self, values: pa.Array, names: Sequence[str], source: str = "value") -> Decoded:
        wanted = without_prefix(self.wanted(names, source), self.prefix)
        reading = pa.schema([(field.name, arrow_type(field.dataType, _as_read)) for field in wanted.fields])
        flat = flat_json(reading.names, arrow_types(wanted))
        pieces = [
            _piece(values.slice(low, high - low), low, reading, wanted, self.confluent, flat)
            for low, high in cut(values, BYTES_TOGETHER)
        ]
        return concatenated(pieces, arrow_types(wanted))

    def describe(self) -> str:
        return f"json({self.fields('value').simpleString()})" + (", Confluent wire format" if self.confluent else "")


def json(schema: str | StructType, *, prefix: str = "", confluent: bool = False) -> JsonDecoder:
    """JSON objects into columns.

    schema   Spark DDL or a StructType; int types, float, double, decimal, boolean, string, date, timestamp, structs and arrays of these
    prefix   put before the columns' names
    confluent   records have the Confluent wire format: five bytes before the JSON (JSON Schema serializers)
    raises   ValueError, TypeError
    """
    found = struct_of(schema)
    arrow_type(found)
    unfit = names_within(found) & {"binary", "map"}
    if unfit:
        raise ValueError(
            f"schema {found.simpleString()}: JSON is not decoded as {', '.join(sorted(unfit))}; binary: take it as string and "
            "use unbase64; map: name its keys in a struct"
        )
    return JsonDecoder(found, prefix, confluent)


def _as_read(name: str, kind: Any) -> Any:
    """pyarrow.json takes dates as numbers: ours are strings, cast afterwards."""
    return pa.string() if name == "date" else kind


def _piece(
    values: pa.Array, base: int, reading: pa.Schema, wanted: StructType, confluent: bool, flat: FlatJson | None
) -> Decoded:
    """Records by the kernel, where it may be; those that it leaves, together."""
    bad: dict[int, str] = {}
    if confluent:
        values, bad = unframed(values)
    walked = None if flat is None else flat.columns(values)
    if walked is None:
        found = _together(values, reading, wanted)
    elif walked[1].all():
        found = Decoded(walked[0], {})
    else:
        found = _completed(walked[0], walked[1], values, reading, wanted)
    return Decoded(found.columns, {base + row: reason for row, reason in (*found.reasons.items(), *bad.items())})


def _completed(
    columns: list[pa.Array], is_sound: Any, values: pa.Array, reading: pa.Schema, wanted: StructType
) -> Decoded:
    """The rows that are sound, and the others parsed together."""
    mask = pa.array(~is_sound)
    rest = _together(values.filter(mask), reading, wanted)
    rows = np.flatnonzero(~is_sound)
    merged = [pc.replace_with_mask(one, mask, other) for one, other in zip(columns, rest.columns, strict=True)]
    return Decoded(merged, {int(rows[row]): reason for row, reason in rest.reasons.items()})


def _together(values: pa.Array, reading: pa.Schema, wanted: StructType) -> Decoded:
    """Records parsed together; if that is refused, by windows, so that one bad record costs its neighbours little."""
    kinds = arrow_types(wanted)
    texts, misshapen = _documents(values)
    options = pj.ParseOptions(explicit_schema=reading, unexpected_field_behavior="ignore")
    try:
        return Decoded(_parse(texts, options, kinds), misshapen)
    except Refused:
        check = check_of(wanted)
        windows = [
            _window(texts.slice(low, ROWS_APART), low, options, kinds, check)
            for low in range(0, len(texts), ROWS_APART)
        ]
        found = concatenated(windows, kinds)
        return Decoded(found.columns, {**found.reasons, **misshapen})


def _window(texts: pa.Array, base: int, options: Any, kinds: list[Any], check: Check) -> Decoded:
    try:
        return Decoded(_parse(texts, options, kinds), {})
    except Refused:
        pass
    reasons = {row: reason for row, text in enumerate(texts.to_pylist()) if (reason := mismatch(text, check))}
    if reasons:
        mask = np.zeros(len(texts), bool)
        mask[list(reasons)] = True
        texts = pc.replace_with_mask(texts, pa.array(mask), pa.array([_EMPTY] * len(reasons), pa.binary()))

    def parse(low: int, high: int) -> list[pa.Array]:
        return _parse(texts.slice(low, high - low), options, kinds)

    # pyarrow counts documents: after a record that begins with one and has more bytes it names the next record
    found = isolate(len(texts), kinds, parse, base, names_surely=False)
    return Decoded(found.columns, {**found.reasons, **{base + row: why for row, why in reasons.items()}})


def _documents(values: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Records that begin and end as objects do, `{}` for the rest; and why, unless they are null."""
    texts = values.fill_null(_EMPTY)
    shaped = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    if pc.all(shaped).as_py() is not False:
        return texts, {}
    mask = pc.invert(shaped)
    reasons = {}
    replacements = []
    for row in np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist():
        text = texts[row].as_py().strip(_SPACE)
        if text[:1] != b"{" or text[-1:] != b"}":
            reasons[row] = "the value is empty" if not text else f"not a JSON object: {text[:40]!r}"
            text = _EMPTY
        replacements.append(text)
    return pc.replace_with_mask(texts, mask, pa.array(replacements, pa.binary())), reasons


def _parse(texts: pa.Array, options: Any, kinds: list[Any]) -> list[pa.Array]:
    """raises   Refused"""
    count = len(texts)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), texts), b"\n")
    data = joined.buffers()[2]
    _check_utf8(joined, texts)
    try:
        table = pj.read_json(
            pa.BufferReader(data),
            read_options=pj.ReadOptions(use_threads=False, block_size=data.size + 1),
            parse_options=options,
        )
    except pa.ArrowInvalid as failure:
        raise _refusal(str(failure)) from None
    if table.num_rows != count:
        raise Refused("more than one JSON document")
    columns = []
    for column, kind in zip(table.columns, kinds, strict=True):
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        try:
            columns.append(array if array.type == kind else array.cast(kind))
        except pa.ArrowInvalid as failure:
            raise Refused(str(failure)) from None
    return columns


def _check_utf8(joined: pa.Array, texts: pa.Array) -> None:
    """raises   Refused"""
    buffers = joined.buffers()
    try:
        pa.Array.from_buffers(pa.string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        try:
            str(buffers[2], "utf-8")
        except UnicodeDecodeError as failure:
            ends = np.cumsum(pc.binary_length(texts).to_numpy().astype(np.int64) + 1)
            row = int(np.searchsorted(ends, failure.start, "right"))
            start = failure.start - int(ends[row - 1] if row else 0)
            raise Refused(f"not valid UTF-8 at byte {start}: {failure.reason}", row) from None


def _refusal(message: str) -> Refused:
    """The error in our words, with the row it names."""
    row = _ROW.search(message)
    text = _ROW.sub("", message).removeprefix("JSON parse error: ")
    kind = _KIND.search(text)
    conversion = _CONVERSION.search(text)
    if kind:
        text = f"{kind[1].replace('/', '.')} is {kind[3]}, expected {kind[2]}"
    elif conversion:
        text = f"{conversion[2][:80]!r} is not {conversion[1]}"
    return Refused(text, int(row[1]) if row else None)
