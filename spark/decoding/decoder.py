"""What every decoder is: an array of binary in, typed columns and the reasons for what did not decode out.

Runs in: made in Spark's driver, pickled, used in the Python workers.

A null (a tombstone) is a record without a value: its columns are null, and it is not a bad one.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from headrace.limits import DECODE_REASON_CHARS_MAX
from headrace.spark.decoding.spark_types import arrow_type

BYTES_TOGETHER = 8 << 20  # parsed in one call, of formats that take many records
ROWS_APART = 256  # and then this few, where one of them is bad


class Decoded(NamedTuple):
    """Columns of as many rows as there were records, null where a record is bad; `reasons` by row of these."""

    columns: list[pa.Array]
    reasons: dict[int, str]


class Refused(Exception):
    """Records that do not decode together; `row` of the first bad one among them, if it is known for certain."""

    def __init__(self, reason: str, row: int | None = None) -> None:
        super().__init__(reason)
        self.row = row


@dataclass(frozen=True, slots=True)
class Decoder(ABC):
    """A format with its schema."""

    @abstractmethod
    def fields(self, source: str) -> StructType:
        """The columns that come of `source`, which is "value" or "key"."""

    @abstractmethod
    def decode(self, values: pa.Array, names: Sequence[str], source: str = "value") -> Decoded:
        """The columns called `names` of an array of binary.

        raises   ValueError, for a name that is none of its fields; RegistryUnavailable
        """

    @abstractmethod
    def describe(self) -> str:
        """One line for `explain`."""

    def wanted(self, names: Sequence[str], source: str) -> StructType:
        """The fields called `names`, in that order. raises ValueError"""
        known = {field.name: field for field in self.fields(source).fields}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"columns {unknown}: the {source} has {', '.join(known)}")
        return StructType([known[name] for name in names])


def prefixed(fields: StructType, prefix: str) -> StructType:
    """The same fields, each with the prefix before its name."""
    if not prefix:
        return fields
    made = StructType([])
    for field in fields.fields:
        made.add(prefix + field.name, field.dataType, field.nullable)
    return made


def without_prefix(fields: StructType, prefix: str) -> StructType:
    """`prefixed`, undone."""
    return StructType(
        [StructField(field.name[len(prefix) :], field.dataType, field.nullable) for field in fields.fields]
    )


def isolate(
    count: int,
    kinds: Sequence[pa.DataType],
    parse: Callable[[int, int], list[pa.Array]],
    base: int = 0,
    names_surely: bool = True,
) -> Decoded:
    """Parse rows together, and where that is refused, apart: bad rows become nulls with their reasons.

    A row that the refusal names is taken out at once; otherwise halves are tried. A row is bad only if it is refused alone, or by a name
    that is sure.

    parse         (low, high) -> columns of exactly these rows; raises Refused
    base          added to the rows of reasons
    names_surely  False: the refusal may name a neighbour of the bad row, so the row that it names is parsed alone
    """
    parts: list[list[pa.Array]] = [[] for _ in kinds]
    reasons: dict[int, str] = {}
    due = [(0, count, "")]  # the next rows last; with a reason, one bad row
    while due:
        low, high, reason = due.pop()
        if reason:
            reasons[base + low] = reason[:DECODE_REASON_CHARS_MAX]
            found = nulls(1, kinds)
        elif low == high:
            continue
        else:
            try:
                found = parse(low, high)
            except Refused as failure:
                row = 0 if high - low == 1 else failure.row
                if row is None or not 0 <= row < high - low:
                    middle = (low + high) // 2
                    due += [(middle, high, ""), (low, middle, "")]
                else:
                    bad = low + row
                    is_known = names_surely or high - low == 1
                    reason = (str(failure) or "refused") if is_known else ""
                    due += [(bad + 1, high, ""), (bad, bad + 1, reason), (low, bad, "")]
                continue
        for part, column in zip(parts, found, strict=True):
            part.append(column)
    return Decoded([_joined(part, kind) for part, kind in zip(parts, kinds, strict=True)], reasons)


def _joined(parts: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts) if parts else pa.nulls(0, kind)


def nulls(count: int, kinds: Sequence[pa.DataType]) -> list[pa.Array]:
    return [pa.nulls(count, kind) for kind in kinds]


def concatenated(pieces: Sequence[Decoded], kinds: Sequence[pa.DataType]) -> Decoded:
    """Pieces one after another; their reasons already count rows of the whole."""
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return Decoded(nulls(0, kinds), {})
    columns = [pa.concat_arrays([piece.columns[index] for piece in pieces]) for index in range(len(kinds))]
    return Decoded(columns, {row: reason for piece in pieces for row, reason in piece.reasons.items()})


def arrow_types(fields: StructType) -> list[Any]:
    return [arrow_type(field.dataType) for field in fields.fields]


def cut(values: pa.Array, bytes_max: int) -> list[tuple[int, int]]:
    """(first, last) of consecutive rows with about `bytes_max` bytes; a row that is larger is alone."""
    if len(values) == 0:
        return []
    offsets = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, 4 * values.offset)
    cuts = [0]
    while cuts[-1] < len(values):
        end = int(np.searchsorted(offsets, int(offsets[cuts[-1]]) + bytes_max, "right")) - 1
        cuts.append(min(max(end, cuts[-1] + 1), len(values)))
    return list(itertools.pairwise(cuts))
