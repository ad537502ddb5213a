"""Confluent's wire format in columns: the headers of many records at once. That of one record: `client/schemas/wire_format.py`.

Runs in: Spark's Python workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.gathered import BinaryColumn
from headrace.client.schemas.failures import BadRecord, RegistryUnavailable
from headrace.client.schemas.wire_format import HEADER_BYTES, schema_id_of
from headrace.limits import UNKNOWN_SCHEMAS_MAX


def unframed(values: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Records without their header, null where there is none; and the reasons by row."""
    _ids, bad = schema_ids(values)
    data, starts, lengths = _layout(values)
    absent = values.is_null().to_numpy(zero_copy_only=False)
    absent[list(bad)] = True
    found = BinaryColumn(len(values))
    found.add(data, starts + HEADER_BYTES, np.where(absent, -1, lengths - HEADER_BYTES), 0, len(values))
    return found.array(len(values)), bad


def schema_ids(values: pa.Array) -> tuple[Any, dict[int, str]]:
    """The id of each record, -1 for null and for what has no such header; and why, by row."""
    count = len(values)
    ids = np.full(count, -1, np.int64)
    if not count:
        return ids, {}
    data, starts, lengths = _layout(values)
    present = values.is_valid().to_numpy(zero_copy_only=False)
    long_enough = np.flatnonzero(present & (lengths >= HEADER_BYTES))
    rows = long_enough[data[starts[long_enough]] == 0]
    found = np.zeros(len(rows), np.int64)
    for index in range(1, HEADER_BYTES):
        found = (found << 8) | data[starts[rows] + index]
    ids[rows] = found
    bad = {}
    for row in np.flatnonzero(present & (ids < 0)).tolist():
        start = int(starts[row])
        try:
            schema_id_of(data[start : start + int(lengths[row])].tobytes())
        except BadRecord as failure:
            bad[row] = str(failure)
    return ids, bad


def _layout(values: pa.Array) -> tuple[Any, Any, Any]:
    """(bytes, where each record begins in them, its length) of an array of binary."""
    _validity, ends, data = values.buffers()
    offsets = np.frombuffer(ends, np.int32, len(values) + 1, 4 * values.offset).astype(np.int64)
    held = np.frombuffer(data if data is not None else b"", np.uint8)
    return held, offsets[:-1], np.diff(offsets)


def check_unknown(unknown: Mapping[int, str]) -> None:
    """Bound what a batch asks a registry for in vain: four random bytes would each be another id.

    raises   RegistryUnavailable
    """
    if len(unknown) > UNKNOWN_SCHEMAS_MAX:
        raise RegistryUnavailable(
            f"more than {UNKNOWN_SCHEMAS_MAX} schema ids of one batch are unknown, such as {min(unknown)}"
            f" ({unknown[min(unknown)]}); check that the data uses the Confluent wire format and this registry"
        )
