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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.column_types import ARROW_TYPES, TIMESTAMP_MS, check_columns
from headrace.arrow.errors import TimestampOverflow
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.ranges import ROWS_PER_BATCH, read_range
from headrace.arrow.tally import Tally
from headrace.load.record_times import ANY_TIME, POLICIES, TimeSpan, outside, reason, timestamps
from headrace.spark.errors import UndecodableRecord

if TYPE_CHECKING:
    from headrace.spark.decoding.decode_plan import Decode, DecodePlan

ALWAYS = ("topic", "partition", "offset", "timestamp")
MODES = {"fail": "fail", "null": "null", "dead": "column"}
RAW = ("key", "value")
REASON = "reason"
CORRUPT = "_corrupt"
ADVICE = "decode mode null or dead loads the others"
DEAD_SCHEMA = pa.schema([(name, ARROW_TYPES[name]) for name in (*ALWAYS, *RAW)] + [(REASON, pa.string())])


@dataclass(frozen=True)
class Contents:
    """Columns of a table, in order.

    decode      a DecodePlan, or None
    bad_times   what becomes of a record whose time is not in `span`
    """

    names: tuple[str, ...]
    decode: DecodePlan | None = None
    bad_times: str = "dead"
    span: TimeSpan = ANY_TIME

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
        self, one: OffsetRange, rows: int = ROWS_PER_BATCH, tally: Tally | None = None
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch | None]]:
        """(rows of the table, dead letters or None), batch by batch.

        tally    counts the bytes, as they are read
        raises   what `read_range` raises; UndecodableRecord; RegistryUnavailable; TimestampOverflow
        """
        decoded = self._decoded()
        raw = (*ALWAYS, *RAW) if self.has_dead_letters else ()
        kafkas = [name for name in self.names if name not in decoded]
        needed = () if self.decode is None else self.decode.sources(self.names)
        sources = tuple(dict.fromkeys([*kafkas, *needed, *raw, "offset", "timestamp"]))
        names = [*self.names, CORRUPT] if self.has_dead_letters else list(self.names)
        for read in read_range(one, _with_milliseconds(sources), rows, tally=tally):
            batch, late = self._timed(one, read, sources)
            if self.decode is None:
                yield batch.select(list(self.names)), late
                continue
            try:
                made = self.decode.apply(batch, names, one.topic, one.partition)
            except UndecodableRecord as failure:
                raise UndecodableRecord(failure.what, ADVICE) from None
            good, dead = self._parted(batch, made) if self.has_dead_letters else (made, None)
            yield good, dead if late is None else late if dead is None else pa.concat_batches([dead, late])

    def _timed(
        self, one: OffsetRange, read: pa.RecordBatch, sources: tuple[str, ...]
    ) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        """(the batch with timestamps, dead letters of times that there is no timestamp for). raises TimestampOverflow"""
        milliseconds = read.column(TIMESTAMP_MS).to_numpy()
        is_bad = outside(milliseconds, self.span)
        is_null = is_bad if self.bad_times == "null" else None
        times = timestamps(milliseconds, self.span, is_null)
        batch = pa.RecordBatch.from_arrays(
            [times if name == "timestamp" else read.column(name) for name in sources], list(sources)
        )
        if is_bad is None or self.bad_times in ("null", "nearest"):
            return batch, None
        offsets = read.column("offset").to_numpy()[is_bad]
        if self.bad_times == "fail":
            raise TimestampOverflow(
                f"{one.topic}-{one.partition}: the record at offset {offsets[0]}: {reason(milliseconds[is_bad][0], self.span)}; "
                "its producer may be writing microseconds or nanoseconds where Kafka has milliseconds; the policies dead, null and "
                "nearest for bad times load the rest"
            )
        return batch.filter(pa.array(~is_bad)), self._dead_letters(one, offsets)

    def _dead_letters(self, one: OffsetRange, offsets: Any) -> pa.RecordBatch:
        """Of the records at these offsets, which are in order; one that was compacted away meanwhile is missing."""
        part = replace(one, start=int(offsets[0]), end=int(offsets[-1]) + 1)
        found = []
        for batch in read_range(part, _with_milliseconds((*ALWAYS, *RAW))):
            batch = batch.filter(pc.is_in(batch.column("offset"), pa.array(offsets)))
            reasons = pa.array([reason(at, self.span) for at in batch.column(TIMESTAMP_MS).to_pylist()], pa.string())
            times = pa.nulls(batch.num_rows, ARROW_TYPES["timestamp"])
            columns = [times if name == "timestamp" else batch.column(name) for name in (*ALWAYS, *RAW)]
            found.append(pa.RecordBatch.from_arrays([*columns, reasons], schema=DEAD_SCHEMA))
        return pa.concat_batches(found) if found else pa.RecordBatch.from_pylist([], DEAD_SCHEMA)

    def _parted(self, batch: pa.RecordBatch, made: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        reasons = made.column(CORRUPT)
        good = made.select(list(self.names))
        if reasons.null_count == len(reasons):
            return good, None
        is_bad = pc.is_valid(reasons)
        dead = [batch.column(name) for name in (*ALWAYS, *RAW)] + [reasons]
        return good.filter(pc.invert(is_bad)), pa.RecordBatch.from_arrays(dead, schema=DEAD_SCHEMA).filter(is_bad)


def contents_of(
    columns: str | Sequence[str] | None,
    decode: Decode | None,
    mode: str,
    with_headers: bool = False,
    bad_times: str = "dead",
) -> Contents:
    """The rows that arguments ask for.

    columns     None: kafka's; with decode topic, partition, offset, timestamp, the key if it is not decoded, and what is
    bad_times   of POLICIES
    raises      ValueError, TypeError; ImportError, if decoding's packages are not installed
    """
    if bad_times not in POLICIES:
        raise ValueError(f"bad_times {bad_times!r} must be one of {', '.join(POLICIES)}")
    if decode is None:
        if mode != "fail":
            raise ValueError(f"decode_mode {mode!r} needs decode")
        names = check_columns(columns)
        names = (*names, "headers") if with_headers and "headers" not in names else names
        return Contents(_with_always(names), None, bad_times)
    if mode not in MODES:
        raise ValueError(f"decode_mode {mode!r} must be one of {', '.join(MODES)}")
    from headrace.spark.decoding.decode_plan import decode_plan

    plan = decode_plan(decode, MODES[mode])
    decoded = [name for name in plan.fields().names if name != CORRUPT]
    if columns is None:
        keys = () if any(source == "key" for source, _decoder in plan.decoders) else ("key",)
        extra = ("headers",) if with_headers else ()
        return Contents((*ALWAYS, *(name for name in keys if name not in decoded), *extra, *decoded), plan, bad_times)
    return Contents(_with_always(check_columns(columns, decoded)), plan, bad_times)


def decoder_of(form: str, options: Mapping[str, str]) -> Mapping[str, Any]:
    """Decoders by source from what the Spark source calls decode.value.*; `form` is its format.

    raises   ValueError; ImportError, if decoding's packages are not installed
    """
    from headrace.spark.decoding.decode_options import decode_from_options

    given = {"decode.value.format": form, **{f"decode.value.{key}": value for key, value in options.items()}}
    plan = decode_from_options(given)
    assert plan is not None
    return dict(plan.decoders)


def _with_milliseconds(names: Sequence[str]) -> tuple[str, ...]:
    """The same columns, with milliseconds in the place of timestamps."""
    return tuple(TIMESTAMP_MS if name == "timestamp" else name for name in names)


def _with_always(names: Sequence[str]) -> tuple[str, ...]:
    return (*(name for name in ALWAYS if name not in names), *names)
