"""What a filter over a table needs not read: columns that it does not name, files and offsets that can't match.

    columns     those without which the filter can't be bound
    files       by what commits know of each: partition, first and last offset, hour
    whole       of these, files whose rows all match: how many there are, a commit says as well
    log         by offset, time and partition (`arrow/pushdown.py`)

A file is left out only where that was proved. What pyarrow reads of the rest it narrows by the statistics of row groups, but for filters
that name floats: statistics leave NaN out, so that it would pass over rows that match.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.pushdown import Pushed, binds, partitions_left, pushed
from headrace.ids import TopicPartition
from headrace.load.commits import DataFile
from headrace.load.hour_files import HOUR_US, NO_HOUR

NEVER_NULL = frozenset({"topic", "partition", "offset"})
_BY_NUMBER = "FieldPath("  # in the text of a filter that names columns by their places


@dataclass(frozen=True, slots=True)
class Pruning:
    """What a filter says before anything is read.

    used          columns that it names
    may           bounds of what can match
    may_not       bounds of what may not match; None: any row may not
    has_floats    statistics don't decide about it
    is_opaque     it is applied to whole rows, after they were read
    """

    where: Any = None
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    used: frozenset[str] = frozenset()
    may: Pushed = field(default_factory=Pushed)
    may_not: Pushed | None = None
    has_floats: bool = False
    is_opaque: bool = False

    @property
    def is_pushed(self) -> bool:
        """Whether pyarrow may have it, to pass over row groups."""
        return self.where is not None and not self.has_floats and not self.is_opaque

    def partitions(self, names: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Those of which a row can match."""
        some = list(names)
        return set(some if self.where is None or self.is_opaque else partitions_left(self.where, self.schema, some))

    def files(self, files: Iterable[DataFile]) -> tuple[list[DataFile], list[DataFile]]:
        """(files of which some rows may match, those of which all rows do)."""
        some = list(files)
        if self.where is None:
            return [], some
        names = {TopicPartition(one.topic, one.partition) for one in some}
        left = self.partitions(names)
        unsure = names
        if self.may_not is not None:
            unsure = set(partitions_left(~self.where, self.schema, list(names)))
        partly: list[DataFile] = []
        whole: list[DataFile] = []
        for one in some:
            name = TopicPartition(one.topic, one.partition)
            if name not in left or not _overlaps(self.may, one) or _is_earlier(self.may, one.hour):
                continue
            is_whole = self.may_not is not None and not (name in unsure and _overlaps(self.may_not, one))
            (whole if is_whole else partly).append(one)
        return partly, whole


def pruning_of(where: pc.Expression | None, schema: pa.Schema) -> Pruning:
    """What a filter over these columns says. raises ValueError, where it can't be computed over them, or gives no boolean"""
    if where is None:
        return Pruning()
    if not isinstance(where, pc.Expression):
        raise ValueError(f"filter {where!r}: expected an expression, such as pyarrow.compute.field('offset') > 100")
    try:
        schema.empty_table().filter(where)
    except (pa.ArrowException, TypeError) as failure:
        seen = ", ".join(f"{one.name} {one.type}" for one in schema)
        raise ValueError(f"filter {where}: {failure}; it sees {seen}") from None
    if _BY_NUMBER in str(where):
        return Pruning(where, schema, frozenset(schema.names), is_opaque=True)
    used = frozenset(
        name for name in schema.names if not binds(where, pa.schema([one for one in schema if one.name != name]))
    )
    has_floats = any(_has_float(schema.field(name).type) for name in used)
    # A row that does not match gives false there, never null: so a row of which "not where" is disproved matches.
    may_not = pushed(~where, schema) if used <= NEVER_NULL else None
    return Pruning(where, schema, used, pushed(where, schema), may_not, has_floats)


def _overlaps(bounds: Pushed, one: DataFile) -> bool:
    return one.first_offset <= bounds.last and one.last_offset >= bounds.first


def _is_earlier(bounds: Pushed, hour: str) -> bool:
    """Whether all times of an hour are before what can match; records without a time have an hour of their own."""
    if bounds.earliest_us is None or not hour or hour == NO_HOUR:
        return False
    day, _, number = hour.rpartition("-")
    start_us = int(np.datetime64(f"{day}T{number}", "h").astype(np.int64)) * HOUR_US
    return start_us + HOUR_US <= bounds.earliest_us


def _has_float(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or any(_has_float(kind.field(index).type) for index in range(kind.num_fields))
