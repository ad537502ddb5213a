"""Text: bytes that are valid UTF-8, as a string column; no byte is copied.

Runs in: Spark's Python workers. A cast in Spark takes any bytes; here a record that is not valid UTF-8 is bad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from headrace.spark.decoding.decoder import Decoded, Decoder, Refused, isolate


@dataclass(frozen=True, slots=True)
class TextDecoder(Decoder):
    """One string column, called as its source: value or key."""

    def fields(self, source: str) -> StructType:
        return StructType([StructField(source, StringType())])

    def decode(self, values: pa.Array, names: Sequence[str], source: str = "value") -> Decoded:
        if not self.wanted(names, source).fields:
            return Decoded([], {})

        def parse(low: int, high: int) -> list[pa.Array]:
            part = values.slice(low, high - low)
            text = pa.Array.from_buffers(pa.string(), len(part), part.buffers(), offset=part.offset)
            try:
                text.validate(full=True)
            except pa.ArrowInvalid:
                raise _refusal(part[0].as_py()) from None
            return [text]

        return isolate(len(values), [pa.string()], parse)

    def describe(self) -> str:
        return "text()"


def text() -> TextDecoder:
    """UTF-8 into one string column, called `value` (or `key`)."""
    return TextDecoder()


def _refusal(record: bytes | None) -> Refused:
    """The reason if this is the record; of many it is only that they don't decode together."""
    try:
        str(record or b"", "utf-8")
    except UnicodeDecodeError as failure:
        return Refused(f"not valid UTF-8 at byte {failure.start}: {failure.reason}")
    return Refused("not valid UTF-8")
