"""What a table's rows are: kafka's columns, or what keys and values decode to; and what becomes of records that don't decode.

Runs in: made in the driver, pickled, used in the task workers.

topic, partition, offset and timestamp are in every table: hours, the audit and the live rest of a table (`live_table.py`) need them.

    mode     a record that does not decode
    fail     ends the load, with topic, partition, offset and reason; nothing of the round is committed
    null     is a row whose decoded columns are null
    dead     goes to the dead letters: key and value as they came, and the reason
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.column_types import ARROW_TYPES, check_columns
from headrace.arrow.ranges import ROWS_PER_BATCH, OffsetRange, read_range

if TYPE_CHECKING:
    from headrace.spark.decoding.decode_plan import Decode, DecodePlan

ALWAYS = ("topic", "partition", "offset", "timestamp")
MODES = {"fail": "fail", "null": "null", "dead": "column"}
RAW = ("key", "value")
REASON = "reason"
CORRUPT = "_corrupt"
DEAD_SCHEMA = pa.schema([(name, ARROW_TYPES[name]) for name in (*ALWAYS, *RAW)] + [(REASON, pa.string())])


@dataclass(frozen=True)
class Contents:
    """Columns of a table, in order.

    decode   a DecodePlan, or None
    """

    names: tuple[str, ...]
    decode: DecodePlan | None = None

    @property
    def has_dead_letters(self) -> bool:
        return self.decode is not None and self.decode.mode == "column"

    def schema(self) -> pa.Schema:
        """Of the table's files."""
        decoded = self._decoded()
        return pa.schema([(name, decoded.get(name) or ARROW_TYPES[name]) for name in self.names])

    def _decoded(self) -> dict[str, Any]:
        if self.decode is None:
            return {}
        from headrace.spark.decoding.spark_types import arrow_type

        return {field.name: arrow_type(field.dataType) for field in self.decode.fields().fields}

    def batches(
        self, one: OffsetRange, rows: int = ROWS_PER_BATCH
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch | None]]:
        """(rows of the table, dead letters or None), batch by batch.

        raises   what `read_range` raises; UndecodableRecord; RegistryUnavailable
        """
        if self.decode is None:
            for batch in read_range(one, self.names, rows):
                yield batch, None
            return
        decoded = self._decoded()
        raw = RAW if self.has_dead_letters else ()
        kafkas = [name for name in self.names if name not in decoded]
        sources = tuple(dict.fromkeys([*kafkas, *self.decode.sources(self.names), *raw]))
        names = [*self.names, CORRUPT] if self.has_dead_letters else list(self.names)
        for batch in read_range(one, sources, rows):
            made = self.decode.apply(batch, names, one.topic, one.partition)
            yield self._parted(batch, made) if self.has_dead_letters else (made, None)

    def _parted(self, batch: pa.RecordBatch, made: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        reasons = made.column(CORRUPT)
        good = made.select(list(self.names))
        if reasons.null_count == len(reasons):
            return good, None
        is_bad = pc.is_valid(reasons)
        dead = [batch.column(name) for name in (*ALWAYS, *RAW)] + [reasons]
        return good.filter(pc.invert(is_bad)), pa.RecordBatch.from_arrays(dead, schema=DEAD_SCHEMA).filter(is_bad)


def contents_of(
    columns: str | Sequence[str] | None, decode: Decode | None, mode: str, with_headers: bool = False
) -> Contents:
    """The rows that arguments ask for.

    columns   None: kafka's; with decode topic, partition, offset, timestamp, the key if it is not decoded, and what is
    raises    ValueError, TypeError; ImportError, if decoding's packages are not installed
    """
    if decode is None:
        if mode != "fail":
            raise ValueError(f"decode_mode {mode!r} needs decode")
        names = check_columns(columns)
        return Contents(_with_always((*names, "headers") if with_headers and "headers" not in names else names))
    if mode not in MODES:
        raise ValueError(f"decode_mode {mode!r} must be one of {', '.join(MODES)}")
    from headrace.spark.decoding.decode_plan import decode_plan

    plan = decode_plan(decode, MODES[mode])
    decoded = [name for name in plan.fields().names if name != CORRUPT]
    if columns is None:
        keys = () if any(source == "key" for source, _decoder in plan.decoders) else ("key",)
        extra = ("headers",) if with_headers else ()
        return Contents((*ALWAYS, *(name for name in keys if name not in decoded), *extra, *decoded), plan)
    return Contents(_with_always(check_columns(columns, decoded)), plan)


def decoder_of(form: str, options: Mapping[str, str]) -> Mapping[str, Any]:
    """Decoders by source from what the Spark source calls decode.value.*; `form` is its format.

    raises   ValueError; ImportError, if decoding's packages are not installed
    """
    from headrace.spark.decoding.decode_options import decode_from_options

    given = {"decode.value.format": form, **{f"decode.value.{key}": value for key, value in options.items()}}
    plan = decode_from_options(given)
    assert plan is not None
    return dict(plan.decoders)


def _with_always(names: Sequence[str]) -> tuple[str, ...]:
    return (*(name for name in ALWAYS if name not in names), *names)
