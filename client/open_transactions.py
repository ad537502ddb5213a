"""Transactions that are open in logs, and whether a coordinator will end them.

    who       leader: open?   coordinator: has it?   leader again: open still?
    known     yes             yes
    hanging   yes             no                     yes, from the same offset on
    over      yes             no                     no: it ended meanwhile

The order matters. A coordinator forgets a partition once its marker is written: what was open before it was asked, and still is, nobody
will end. A coordinator that can't be asked may know of it: then nothing is said to be hanging (`Unanswered`).

Source: Kafka `TransactionsCommand.FindHangingTransactionsCommand`; KIP-664.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.client.admin import Listing, ProducerState, TransactionAdmin, TransactionDescription
from headrace.client.cluster import LATEST, Cluster
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TRANSACTIONS_TOPIC, TopicPartition

Producers = Mapping[TopicPartition, Iterable[ProducerState]]


class Unanswered(HeadraceError):
    """A coordinator that may know of a transaction can't be asked."""


class OpenTransaction(NamedTuple):
    """One at the leader of a partition."""

    name: TopicPartition
    producer: ProducerState

    @property
    def first_offset(self) -> int:
        return self.producer.first_offset


class Found(NamedTuple):
    """What is known of an open transaction.

    ids          of its producer, as their coordinators describe them; mostly one
    is_hanging   no coordinator will end it
    """

    transaction: OpenTransaction
    ids: tuple[TransactionDescription, ...]
    is_hanging: bool


class Standstill(NamedTuple):
    """What holds down the last stable offset of a partition.

    held_by   the first transaction that is open there; None: none is
    others    that are open behind it
    """

    name: TopicPartition
    last_stable_offset: int
    high_watermark: int
    held_by: Found | None
    others: int

    @property
    def behind(self) -> int:
        return max(0, self.high_watermark - self.last_stable_offset)


def open_ones(producers: Producers) -> list[OpenTransaction]:
    """By partition and first offset."""
    found = [OpenTransaction(name, one) for name, rows in producers.items() for one in rows if one.first_offset >= 0]
    return sorted(found, key=_place)


def _place(transaction: OpenTransaction) -> tuple[TopicPartition, int]:
    return transaction.name, transaction.first_offset


def is_known(transaction: OpenTransaction, ids: Iterable[TransactionDescription]) -> bool:
    """Whether a coordinator still has to write the marker of this partition."""
    return any(
        one.producer_id == transaction.producer.producer_id and transaction.name in one.partitions for one in ids
    )


def is_same(transaction: OpenTransaction, producers: Producers) -> bool:
    """Whether it is open still: a later transaction of its producer has another first offset."""
    return any(
        one.producer_id == transaction.producer.producer_id and one.first_offset == transaction.first_offset
        for one in producers.get(transaction.name, ())
    )


def is_old(transaction: OpenTransaction, older_than_ms: int, now_ms: int) -> bool:
    """Whether its producer has written nothing there for so long; the time of its start is only known to coordinators.

    Nodes tell when they appended its last batch, Kafka's brokers the time of its records, which may be any.
    """
    return now_ms - transaction.producer.last_timestamp_ms > older_than_ms


def judge(admin: TransactionAdmin, transactions: Collection[OpenTransaction]) -> list[Found]:
    """What coordinators say of them; those that ended meanwhile are left out.

    raises   Unanswered, where one is unknown, and a coordinator can't be asked; KafkaError, ConnectionFailed
    """
    if not transactions:
        return []
    listing = admin.list(producer_ids=sorted({one.producer.producer_id for one in transactions}))
    ids = _described(admin, listing)
    unknown = [one for one in transactions if not is_known(one, ids)]
    again = admin.producers({one.name for one in unknown}) if unknown else {}
    found = []
    for one in transactions:
        own = tuple([row for row in ids if row.producer_id == one.producer.producer_id])
        if is_known(one, ids):
            found.append(Found(one, own, is_hanging=False))
        elif is_same(one, again):
            if listing.silent:
                raise Unanswered(unanswered_text(one, listing.silent))
            found.append(Found(one, own, is_hanging=True))
    return found


def unanswered_text(transaction: OpenTransaction, silent: Collection[int]) -> str:
    """Why it is not known whether it hangs."""
    some = ", ".join([f"{TRANSACTIONS_TOPIC}-{index}" for index in sorted(silent)[:3]])
    more = f" and {len(silent) - 3} others" if len(silent) > 3 else ""
    return (
        f"{transaction.name}: producer {transaction.producer.producer_id} has a transaction open since offset"
        f" {transaction.first_offset}; its coordinator may be one that can't be asked: {some}{more}"
    )


def find_hanging(
    admin: TransactionAdmin, names: Collection[TopicPartition], older_than_ms: int, now_ms: int
) -> list[Found]:
    """Open transactions that no coordinator will end, of producers that wrote nothing there for so long. Raises as `judge`"""
    old = [one for one in open_ones(admin.producers(names)) if is_old(one, older_than_ms, now_ms)]
    return [one for one in judge(admin, old) if one.is_hanging]


def standstill(cluster: Cluster, name: TopicPartition) -> Standstill:
    """What holds down a partition's last stable offset. Raises as `judge`"""
    admin = TransactionAdmin(cluster)
    transactions = open_ones(admin.producers([name]))
    found = judge(admin, transactions[:1])
    stable = cluster.offsets({name: LATEST}, read_committed=True)[name]
    high_watermark = cluster.offsets({name: LATEST})[name]
    return Standstill(name, stable, high_watermark, found[0] if found else None, max(0, len(transactions) - 1))


def _described(admin: TransactionAdmin, listing: Listing) -> list[TransactionDescription]:
    """Each id of the listing; one that expired meanwhile is left out."""
    found = []
    for row in listing.transactions:
        try:
            found.append(admin.describe(row.transactional_id))
        except KafkaError as failure:
            if failure.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
    return found
