"""What is decoded by what, and what becomes of records that don't decode.

Runs in: made in Spark's driver, pickled, applied in the Python workers.

Modes: `fail` raises, with topic, partition, offset and reason; `null` leaves the decoded columns null; `column` does that
and gives the reason in `_corrupt`, null where all is well. A field is checked if it is read: what is not asked for is not
built (`_corrupt` alone checks all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from headrace.arrow.column_types import ALL_COLUMNS
from headrace.spark.decoding.decoder import Decoded, Decoder
from headrace.spark.errors import UndecodableRecord

SOURCES = ("value", "key")
MODES = ("fail", "null", "column")
CORRUPT = "_corrupt"
Decode = Decoder | Mapping[str, Decoder]


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """Decoders by source, and the mode."""

    decoders: tuple[tuple[str, Decoder], ...]
    mode: str = "fail"

    def fields(self) -> StructType:
        """All decoded columns; `_corrupt` last."""
        found = StructType([field for source, decoder in self.decoders for field in decoder.fields(source).fields])
        return found.add(StructField(CORRUPT, StringType())) if self.mode == "column" else found

    def sources(self, names: Sequence[str]) -> list[str]:
        """The columns that have to be read for the decoded ones in `names`."""
        return [source for source, _decoder, _wanted in self._steps(names)]

    def apply(self, batch: pa.RecordBatch, names: Sequence[str], topic: str, partition: int) -> pa.RecordBatch:
        """The columns `names` of a batch that has the sources, and `offset` if the mode is "fail".

        raises   UndecodableRecord; RegistryUnavailable
        """
        columns: dict[str, pa.Array] = {}
        reasons: dict[int, str] = {}
        for source, decoder, wanted in self._steps(names):
            found: Decoded = decoder.decode(batch.column(source), wanted, source)
            if found.reasons and self.mode == "fail":
                row = min(found.reasons)
                raise UndecodableRecord(
                    f"{topic}-{partition}: the {source} of the record at offset {batch.column('offset')[row].as_py()} can't be decoded: "
                    f"{found.reasons[row]}"
                )
            columns.update(zip(wanted, found.columns, strict=True))
            for row, reason in found.reasons.items():
                reasons[row] = f"{reasons[row]}; {source}: {reason}" if row in reasons else f"{source}: {reason}"
        if CORRUPT in names and self.mode == "column":
            columns[CORRUPT] = (
                pa.array([reasons.get(row) for row in range(batch.num_rows)], pa.string())
                if reasons
                else pa.nulls(batch.num_rows, pa.string())
            )
        arrays = [columns[name] if name in columns else batch.column(name) for name in names]
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _steps(self, names: Sequence[str]) -> list[tuple[str, Decoder, list[str]]]:
        """(source, decoder, its columns) of what `names` needs."""
        steps = []
        for source, decoder in self.decoders:
            own = decoder.fields(source).names
            wanted = [name for name in names if name in own]
            if not wanted and CORRUPT in names:
                wanted = own
            if wanted:
                steps.append((source, decoder, wanted))
        return steps

    def describe(self, names: Sequence[str]) -> list[str]:
        """A line for each source that is decoded for `names`."""
        return [
            f"{source} by {decoder.describe()}, {', '.join(wanted)}" for source, decoder, wanted in self._steps(names)
        ]


def decode_plan(decode: Decode, mode: str = "fail") -> DecodePlan:
    """A plan from `decode=`: a decoder of the value, or decoders by "value" and "key".

    raises   ValueError, TypeError: naming what does not go together
    """
    if mode not in MODES:
        raise ValueError(f"decode mode {mode!r} must be one of {', '.join(MODES)}")
    by_source = {"value": decode} if isinstance(decode, Decoder) else decode
    if not isinstance(by_source, Mapping) or not all(isinstance(one, Decoder) for one in by_source.values()):
        raise TypeError(
            f"decode must be a decoder (json(...), csv(...), text(), avro(...), protobuf(...) of headrace.spark.decoding) or a dict "
            f'of them by "value" and "key", not {decode!r}'
        )
    unknown = sorted(set(by_source) - set(SOURCES))
    if unknown or not by_source:
        raise ValueError(f"decode takes {' and '.join(SOURCES)}, not {', '.join(map(str, unknown)) or 'nothing'}")
    seen: dict[str, str] = {}
    for source, decoder in by_source.items():
        for name in decoder.fields(source).names:
            _check_name(name, source, seen)
            seen[name.lower()] = source
    return DecodePlan(tuple(by_source.items()), mode)


def _check_name(name: str, source: str, seen: Mapping[str, str]) -> None:
    """raises   ValueError, for a column that would hide another: Spark's names ignore case"""
    if name.lower() in {one.lower() for one in ALL_COLUMNS} and name != source:
        raise ValueError(f"decoded column {name} of the {source} is also a Kafka column: set a prefix")
    if name == CORRUPT:
        raise ValueError(
            f"decoded column {name} of the {source} is the name of the column with failure reasons: set a prefix"
        )
    if name.lower() in seen:
        raise ValueError(f"decoded column {name} of the {source} appears twice ({seen[name.lower()]}): set a prefix")
