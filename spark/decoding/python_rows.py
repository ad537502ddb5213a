"""Records decoded one by one in Python, then put into columns: Avro and Protobuf.

Runs in: Spark's Python workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headrace.client.schemas.failures import BadRecord
from headrace.limits import DECODE_REASON_CHARS_MAX
from headrace.spark.decoding.decoder import Decoded, Refused, isolate

# a record -> the values of its columns; raises BadRecord
ReadRow = Callable[[bytes], Sequence[Any]]


def decode_rows(
    records: Sequence[bytes | None], read: ReadRow, sources: Sequence[Any], kinds: Sequence[Any]
) -> Decoded:
    """Columns of records.

    sources   the Arrow types of what `read` gives; timestamps in it may be integers
    kinds     those that the columns are cast to
    """
    count = len(records)
    rows: list[Sequence[Any]] = []
    reasons: dict[int, str] = {}
    nothing = (None,) * len(kinds)
    for row, record in enumerate(records):
        if record is None:
            rows.append(nothing)
            continue
        try:
            rows.append(read(record))
        except BadRecord as failure:
            reasons[row] = str(failure)[:DECODE_REASON_CHARS_MAX]
            rows.append(nothing)
    by_column = list(zip(*rows, strict=True)) if rows else [() for _ in kinds]

    def build(low: int, high: int) -> list[pa.Array]:
        try:
            return [
                pa.array(values[low:high], source).cast(kind)
                for values, source, kind in zip(by_column, sources, kinds, strict=True)
            ]
        except (pa.ArrowException, OverflowError, UnicodeError) as failure:
            raise Refused(str(failure)) from None

    found = isolate(count, kinds, build)
    return Decoded(found.columns, {**found.reasons, **reasons})
