"""CSV: a line a record, parsed together by pyarrow.csv.

Runs in: Spark's Python workers. A record with a line break, even a quoted one, is bad: with none left each line is one record, and as
many rows as records means that no open quote took in the next line. What does not parse together is parsed apart (`decoder.isolate`).

An empty field is null (quoted, an empty string), as in Spark's from_csv; a record with more or fewer fields than the schema is bad.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
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
from headrace.spark.decoding.spark_types import arrow_type, names_within, struct_of

_LINE_BREAK = r"[\r\n]"
_ROW = re.compile(r"Row #(\d+): ")
_Parse = Callable[[pa.Array], list[pa.Array]]
_INVALID = re.compile(r"In CSV column #\d+: (?:Row #\d+: )?CSV conversion error to ([^:]+): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CsvDecoder(Decoder):
    """Fields by position."""

    schema: StructType
    delimiter: str = ","
    prefix: str = ""

    def fields(self, source: str) -> StructType:
        return prefixed(self.schema, self.prefix)

    def decode(self, values: pa.Array, names: Sequence[str], source: str = "value") -> Decoded:
        wanted = without_prefix(self.wanted(names, source), self.prefix)
        kinds = arrow_types(wanted)
        pieces = [
            self._piece(values.slice(low, high - low), low, wanted.names, kinds)
            for low, high in cut(values, BYTES_TOGETHER)
        ]
        return concatenated(pieces, kinds)

    def describe(self) -> str:
        delimiter = "" if self.delimiter == "," else f", delimiter {self.delimiter!r}"
        return f"csv({self.fields('value').simpleString()}{delimiter})"

    def _piece(self, values: pa.Array, base: int, names: list[str], kinds: list[Any]) -> Decoded:
        lines, bad, absent = _lines(values, self.delimiter * (len(self.schema.fields) - 1))
        bad = {base + row: reason for row, reason in bad.items()}
        convert = pcsv.ConvertOptions(
            include_columns=names,
            column_types=dict(zip(names, map(_as_read, kinds), strict=True)),
            null_values=[""],
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        columns = self.schema.names
        parse_options = pcsv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=False)

        def parse(part: pa.Array) -> list[pa.Array]:
            return _parse(part, columns, parse_options, convert, kinds)

        try:
            found = Decoded(parse(lines), {})
        except Refused:
            cuts = range(0, len(lines), ROWS_APART)
            found = concatenated(
                [self._window(lines.slice(low, ROWS_APART), base + low, parse, kinds) for low in cuts], kinds
            )
        if absent is None:
            return found
        blanked = [pc.if_else(absent, pa.scalar(None, column.type), column) for column in found.columns]
        return Decoded(blanked, {**found.reasons, **bad})

    def _window(self, lines: pa.Array, base: int, parse: _Parse, kinds: list[Any]) -> Decoded:
        """Lines parsed apart, after those with too many or too few fields are found by counting."""
        quoted = pc.match_substring(lines, '"')
        expected = len(self.schema.fields) - 1
        found = pc.count_substring(lines, self.delimiter)
        wrong = pc.and_not(pc.not_equal(found, expected), quoted)
        counts = found.to_numpy()
        rows = np.flatnonzero(wrong.to_numpy(zero_copy_only=False)).tolist()
        reasons = {base + row: f"{counts[row] + 1} fields, expected {expected + 1}" for row in rows}
        lines = pc.if_else(wrong, pa.scalar(self.delimiter.encode() * expected, pa.binary()), lines)
        # An error may name a row after the one whose quote took in a line.
        is_certain = not pc.any(quoted).as_py()

        def parse_part(low: int, high: int) -> list[pa.Array]:
            try:
                return parse(lines.slice(low, high - low))
            except Refused as failure:
                failure.row = failure.row if is_certain else None
                raise

        isolated = isolate(len(lines), kinds, parse_part, base)
        return Decoded(isolated.columns, {**isolated.reasons, **reasons})


def csv(schema: str | StructType, *, delimiter: str = ",", prefix: str = "") -> CsvDecoder:
    """A line of fields into columns, by position.

    schema      Spark DDL or a StructType, nothing nested
    delimiter   one character
    prefix      put before the columns' names
    raises      ValueError, TypeError
    """
    found = struct_of(schema)
    arrow_type(found)
    nested = {name for field in found.fields for name in names_within(field.dataType)} & {"struct", "array", "map"}
    if nested:
        raise ValueError(f"schema {found.simpleString()}: CSV has no {', '.join(sorted(nested))}")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ValueError(f"delimiter {delimiter!r} must be one ASCII character, no quote and no line break")
    return CsvDecoder(found, delimiter, prefix)


def _as_read(kind: Any) -> Any:
    """Timestamps are read as strings and cast: pyarrow.csv wants a zone in all of them or in none."""
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _lines(values: pa.Array, blank: str) -> tuple[pa.Array, dict[int, str], pa.Array | None]:
    """Records fit for one line each, a blank one for the rest; why, unless they are null; and which these are."""
    lines = values.fill_null(blank.encode())
    broken = pc.match_substring_regex(lines, _LINE_BREAK)
    empty = pc.equal(pc.binary_length(values), 0).fill_null(False)
    unfit = pc.or_(broken, empty)
    absent = pc.or_(unfit, values.is_null())
    if not pc.any(absent).as_py():
        return lines, {}, None
    reasons = dict.fromkeys(np.flatnonzero(broken.to_numpy(zero_copy_only=False)).tolist(), "a line break")
    reasons.update((row, "the value is empty") for row in np.flatnonzero(empty.to_numpy(zero_copy_only=False)).tolist())
    return pc.if_else(unfit, pa.scalar(blank.encode(), pa.binary()), lines), reasons, absent


def _parse(lines: pa.Array, columns: list[str], options: Any, convert: Any, kinds: list[Any]) -> list[pa.Array]:
    """raises   Refused"""
    count = len(lines)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), lines), b"\n")
    data = joined.buffers()[2]
    if data is None or not data.size:  # a blank line of one column, which pyarrow takes for no data
        return [pa.nulls(count, kind) for kind in kinds]
    try:
        table = pcsv.read_csv(
            pa.BufferReader(data),
            read_options=pcsv.ReadOptions(use_threads=False, column_names=columns, block_size=data.size + 1),
            parse_options=options,
            convert_options=convert,
        )
        if table.num_rows != count:
            raise Refused("a quote is not closed")
        return [
            (column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())
            if column.type == kind
            else _timestamps(column.combine_chunks(), kind)
            for column, kind in zip(table.columns, kinds, strict=True)
        ]
    except pa.ArrowInvalid as failure:
        raise _refusal(str(failure)) from None


def _timestamps(texts: pa.Array, kind: Any) -> pa.Array:
    """Strings with a zone, or without one, which is UTC. raises ArrowInvalid"""
    has_zone = pc.match_substring_regex(texts, r"(Z|[+-]\d{2}(:?\d{2})?)$")
    has_zone = pc.and_(has_zone, pc.greater(pc.utf8_length(texts), 10))  # a date ends like a zone
    zone = pa.timestamp("us", tz="UTC")
    nothing = pa.scalar(None, pa.string())
    zoned = pc.if_else(has_zone, texts, nothing).cast(zone)
    plain = pc.if_else(has_zone, nothing, texts).cast(pa.timestamp("us")).cast(pa.int64()).cast(zone)
    return pc.coalesce(zoned, plain).cast(kind)


def _refusal(message: str) -> Refused:
    row = _ROW.search(message)
    invalid = _INVALID.search(message)
    text = (
        f"{invalid[2][:80]}, expected {invalid[1]}" if invalid else _ROW.sub("", message).partition(": ")[2] or message
    )
    text = text.partition("\n")[0]
    return Refused(text, int(row[1]) - 1 if row else None)
