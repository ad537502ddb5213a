"""Records of `__transaction_state`: what a transactional id looks like in the log.

    key     version i16 = 0 | transactional id string
    value   version i16 | `TransactionLogValue` of the schema     null: a tombstone

Written: value version 0. Read: 0 and 1, which has tagged fields that Kafka adds for `transaction.version` 2.
A partition list of null, which an Empty id has, is read as no partitions.

Field tables: `protocol/schema/records_and_headers.txt`. Source: Kafka `TransactionLog`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import BadFrame
from headrace.protocol import messages
from headrace.protocol.codec import decode_struct, encode_struct
from headrace.workers.coordinators.transaction.state import BY_CODE, TransactionState
from headrace.workers.coordinators.transaction.transaction import Entry, TopicIndex

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 0
LATEST_VALUE_VERSION: Final = 1

_Value = messages.TransactionLogValue


class UnknownVersion(BadFrame):
    """A version that a newer coordinator wrote: what it says is not known here."""


def key_of(transactional_id: str) -> bytes:
    """raises ValueError, where the id is longer than a string may be"""
    return b"\0\0" + encode_struct(
        "TransactionLogKey", KEY_VERSION, messages.TransactionLogKey(transactional_id=transactional_id)
    )


def id_of(key: bytes) -> str:
    """The transactional id of a key.

    raises   UnknownVersion, BadFrame
    """
    if len(key) < 2:
        raise BadFrame(f"a key of {len(key)} bytes")
    version = int.from_bytes(key[:2], "big", signed=True)
    if version != KEY_VERSION:
        raise UnknownVersion(f"a key of version {version}")
    transactional_id: str = decode_struct("TransactionLogKey", KEY_VERSION, key[2:]).transactional_id
    return transactional_id


def value_of(entry: Entry) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(entry.partitions):
        by_topic.setdefault(topic, []).append(index)
    rows = None
    if entry.state is not TransactionState.EMPTY:
        rows = [_Value.PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in by_topic.items()]
    return VALUE_VERSION.to_bytes(2, "big") + encode_struct(
        "TransactionLogValue",
        VALUE_VERSION,
        _Value(
            producer_id=entry.producer_id,
            producer_epoch=entry.epoch,
            transaction_timeout_ms=entry.timeout_ms,
            transaction_status=entry.state.code,
            transaction_partitions=rows,
            transaction_last_update_timestamp_ms=entry.updated_ms,
            transaction_start_timestamp_ms=entry.start_ms,
        ),
    )


def entry_of(value: bytes) -> Entry:
    """raises UnknownVersion, BadFrame"""
    if len(value) < 2:
        raise BadFrame(f"a value of {len(value)} bytes")
    version = int.from_bytes(value[:2], "big", signed=True)
    if not 0 <= version <= LATEST_VALUE_VERSION:
        raise UnknownVersion(f"a value of version {version}, {LATEST_VALUE_VERSION} is the highest known")
    message = decode_struct("TransactionLogValue", version, value[2:])
    state = BY_CODE.get(message.transaction_status)
    if state is None or state is TransactionState.DEAD:
        raise BadFrame(f"state {message.transaction_status} is none that a log has")
    partitions: list[TopicIndex] = [
        (row.topic, index) for row in message.transaction_partitions or () for index in row.partition_ids
    ]
    return Entry(
        message.producer_id,
        message.producer_epoch,
        message.transaction_timeout_ms,
        state,
        frozenset(partitions),
        message.transaction_last_update_timestamp_ms,
        message.transaction_start_timestamp_ms,
    )
