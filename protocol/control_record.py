"""The record in a control batch: what ends a transaction.

    key     version i16 | type i16 (0 abort, 1 commit; others are not markers)
    value   version i16 | coordinator epoch i32

Source: Kafka `ControlRecordType`, `EndTransactionMarker`; KIP-98.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

CONTROL_KEY: Final = Struct(">hh")
MARKER_VALUE: Final = Struct(">hi")
ABORT: Final = 0
COMMIT: Final = 1


class EndMarker(NamedTuple):
    """What ends a producer's transaction in one partition.

    coordinator_epoch   leader epoch of the coordinator's partition: one of an earlier coordinator is refused
    """

    producer_id: int
    epoch: int
    coordinator_epoch: int
    is_abort: bool


def control_type(key: bytes | None) -> int | None:
    """The type that a control record's key says; None where it is too short for one."""
    if key is None or len(key) < CONTROL_KEY.size:
        return None
    return int(CONTROL_KEY.unpack_from(key)[1])
