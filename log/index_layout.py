"""What the entries of a segment's three index files look like, for those that write them and those that read them.

    .index       relative offset i32 | position i32
    .timeindex   timestamp i64 | relative offset i32
    .txnindex    version i16 = 0 | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

All big-endian. An offset is relative to the base offset that the segment is named for.

Source: Kafka `OffsetIndex`, `TimeIndex`, `AbortedTxn`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

OFFSET_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")
TXN_ENTRY: Final = Struct(">hqqqq")
TXN_VERSION: Final = 0

RELATIVE_OFFSET_MAX: Final = 2**31 - 1

assert (OFFSET_ENTRY.size, TIME_ENTRY.size, TXN_ENTRY.size) == (8, 12, 34)


class AbortedTransaction(NamedTuple):
    """An entry of the transaction index.

    last_offset          of the abort marker
    last_stable_offset   what that was once the marker was in the log
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
