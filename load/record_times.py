"""What becomes of records whose time a table's column can't hold: microseconds or nanoseconds where Kafka has milliseconds, mostly.

    policy    such a record
    dead      goes to the dead letters, with key and value as they came, and its time in the reason
    null      is a row without a time
    nearest   is a row with the nearest time that the column holds
    fail      ends the load

Runs in: task workers.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.arrow.column_types import ARROW_TYPES

POLICIES: Final = ("dead", "null", "nearest", "fail")
HOUR_MS: Final = 3_600_000
US_PER_MS: Final = 1000


class TimeSpan(NamedTuple):
    """Times in milliseconds since 1970, both ends included."""

    least_ms: int
    most_ms: int


ANY_TIME: Final = TimeSpan(-(2**63 - 1) // US_PER_MS + 1, (2**63 - 1) // US_PER_MS)  # of microseconds in an int64


def outside(milliseconds: Any, span: TimeSpan) -> Any:
    """Which of an array of times a column can't hold, as booleans; None: it holds them all."""
    if not len(milliseconds) or span.least_ms <= milliseconds.min() <= milliseconds.max() <= span.most_ms:
        return None
    return (milliseconds < span.least_ms) | (milliseconds > span.most_ms)


def timestamps(milliseconds: Any, span: TimeSpan, is_null: Any = None) -> pa.Array:
    """A column of times, the nearest for those that it can't hold; `is_null` for which there is none."""
    microseconds = np.clip(milliseconds, span.least_ms, span.most_ms) * US_PER_MS
    return pa.array(microseconds, pa.int64(), mask=is_null).cast(ARROW_TYPES["timestamp"])


def reason(milliseconds: int, span: TimeSpan) -> str:
    """For a dead letter."""
    return f"timestamp {milliseconds} ms is out of range: the column holds {span.least_ms} to {span.most_ms}"
