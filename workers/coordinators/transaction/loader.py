"""The log of `__transaction_state` into memory: the last record of each id counts, a null value takes it away.

A value is kept as bytes until the log was read, and the last ones are read in slices then (`prepare`).

What can't be read is reported. Where it is the value of an id, that id alone is refused until a later record says what it is.
Where it is a whole batch, which ids are in it is not known, and the partition is refused: a transaction whose decision was
overlooked would be decided twice. Keys of an unknown version, which newer coordinators write, are left out.

Source: Kafka `TransactionStateManager.loadTransactionMetadata`, which goes on with what it has read.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.errors import BadFrame
from headrace.limits import (
    LOAD_REPORT_LENGTH_MAX,
    LOAD_REPORTS_MAX,
    OPENED_BYTES_MAX,
    OPENED_RECORD_COST,
    OPENED_RECORDS_MAX,
)
from headrace.protocol.record_batch import CorruptRecord, RecordBatchHeader, compute_crc, iterate_records
from headrace.workers.coordinators.transaction.records import UnknownVersion, entry_of, id_of
from headrace.workers.coordinators.transaction.state import UNDER_WAY
from headrace.workers.coordinators.transaction.transaction import Transaction

VALUE_COST: Final = 512  # reading the value of an id takes as long as loading so many bytes

_log: Final = logging.getLogger(__name__)


class TransactionLoader:
    """One load.

    records      how many were read
    faults       how many records and batches were left out
    is_whole     whether each batch could be read
    open         transactions that go on, once it is finished
    """

    def __init__(self, name: str) -> None:
        self.records = 0
        self.faults = 0
        self.is_whole = True
        self._name = name
        self._values: dict[str, bytes] = {}  # not read yet
        self._transactions: dict[str, Transaction] = {}
        self._unreadable: set[str] = set()
        self.open: list[Transaction] = []

    def take(self, header: RecordBatchHeader, batch: memoryview) -> int:
        """The next batch of the log; returns what it cost in bytes, as of a group's log. Raises nothing."""
        try:
            if compute_crc(batch) != header.crc:
                raise CorruptRecord("the checksum is wrong")
            if header.record_count > OPENED_RECORDS_MAX:
                raise CorruptRecord(f"{header.record_count} records, {OPENED_RECORDS_MAX} are read")
            if not header.is_control:
                self._take_records(header, batch)
        except Exception as failure:  # whatever it is, it would come again at every start
            self.is_whole = False
            self.report(f"batch at offset {header.base_offset}: {type(failure).__name__}: {failure}")
        return max(len(batch), OPENED_RECORD_COST * header.record_count) if header.codec else len(batch)

    def report(self, what: str) -> None:
        """Something is left out."""
        self.faults += 1
        if self.faults <= LOAD_REPORTS_MAX:
            _log.error("transaction log not readable partition=%s what=%s", self._name, what[:LOAD_REPORT_LENGTH_MAX])

    def _take_records(self, header: RecordBatchHeader, batch: memoryview) -> None:
        for record in iterate_records(batch, OPENED_BYTES_MAX):
            self.records += 1
            try:
                transactional_id = id_of(record.key or b"")
            except UnknownVersion:
                continue
            except BadFrame as failure:
                self.report(f"key {record.key!r} in batch {header.base_offset}: {failure}")
                continue
            if record.value is None:
                self._values.pop(transactional_id, None)
                self._forget(transactional_id)
            else:
                self._values[transactional_id] = bytes(record.value)

    def prepare(self, room: int) -> int:
        """Read the values of some more ids, as the log has them last; returns what it cost, 0 where none is left."""
        cost = 0
        while self._values and cost < room:
            transactional_id, value = self._values.popitem()
            cost += VALUE_COST
            self._forget(transactional_id)
            try:
                entry = entry_of(value)
            except Exception as failure:  # as of a batch
                self.report(f"transactional id {transactional_id!r}: {type(failure).__name__}: {failure}")
                self._unreadable.add(transactional_id)
                continue
            self._transactions[transactional_id] = Transaction.from_entry(transactional_id, entry)
        return cost

    def _forget(self, transactional_id: str) -> None:
        """A later record says something else of an id that was prepared."""
        self._transactions.pop(transactional_id, None)
        self._unreadable.discard(transactional_id)

    def finish(self) -> tuple[dict[str, Transaction], set[str]]:
        """The transactions as the log has them, and the ids whose state is not known."""
        while self.prepare(VALUE_COST):
            pass
        self.open = [one for one in self._transactions.values() if one.state in UNDER_WAY]
        return self._transactions, self._unreadable
