"""TransactionLogValue, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class PartitionsSchema(NamedTuple):
    topic: str = ""  # v0+
    partition_ids: Sequence[int] = ()  # v0+


class _TransactionLogValue(NamedTuple):
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    transaction_timeout_ms: int = 0  # v0+
    transaction_status: int = 0  # v0+
    transaction_partitions: Sequence[PartitionsSchema] | None = ()  # v0+, null v0+
    transaction_last_update_timestamp_ms: int = 0  # v0+
    transaction_start_timestamp_ms: int = 0  # v0+


class TransactionLogValue(_TransactionLogValue):
    __slots__ = ()
    PartitionsSchema: TypeAlias = PartitionsSchema
