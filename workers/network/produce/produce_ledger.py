"""Produce requests in flight to the partition workers.

Runs in: a network worker. A request is split into one ring message per partition; it is answered when each of
them has its result. So it is with acks=0, of which no answer says anything: an error closes the connection, as Kafka
does, for the producer to refresh its metadata. What comes after it on its connection waits for its results, as in Kafka, where one
request of a connection is served at a time (`Connection.postpone`).

Bound: exchanges per connection (PIPELINED_REQUESTS_MAX) times connections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.errors import ErrorCode
from headrace.shm.messages import PRODUCE_HEADER, PRODUCE_PLACE, RESULT_ENTRY, RESULT_TEXT_HEADER, unpack_result
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.connections.receive_arena import Block
from headrace.workers.network.produce.refused_batches import error_to_tell, note_missing

# (error, base_offset, log_append_time_ms, log_start_offset)
Result = tuple[int, int, int, int]
SEQUENCE_BITS: Final = 32
ENTRY_BYTES: Final = 40
VERSION_OF_ABORTABLE: Final = 11  # of Produce: TRANSACTION_ABORTABLE is known (KIP-890)
_ABORTABLE: Final = int(ErrorCode.TRANSACTION_ABORTABLE)
_NO_TRANSACTION: Final = int(ErrorCode.INVALID_TXN_STATE)

assert RESULT_ENTRY.size == ENTRY_BYTES


class PendingProduce:
    """One produce request: which partitions it named, and what came back so far."""

    __slots__ = (
        "_places",
        "block",
        "exchange",
        "is_current",
        "is_silent",
        "owners",
        "record_errors",
        "remaining",
        "respond",
        "results",
        "texts",
        "topics",
    )

    def __init__(
        self,
        exchange: Exchange,
        topics: list[tuple[str, list[int]]],
        count: int,
        respond: Callable[[Any], None],
        is_current: Callable[[], bool],
        *,
        is_silent: bool = False,
    ) -> None:
        self.exchange = exchange
        self.is_silent = is_silent  # acks=0
        exchange.connection.produces += count > 0
        self.is_current = is_current
        self.topics = topics
        self._places: list[tuple[str, int]] | None = None  # of the results; once one of them is looked up
        self.results: list[Result | None] = [None] * count
        self.owners = [-1] * count  # process id that owes the result
        self.remaining = count
        self.texts: dict[int, str] | None = None  # error messages by index
        self.record_errors: dict[int, tuple[list[int], str]] | None = None  # of those, of some: (records, reason)
        self.respond = respond
        self.block: Block | None = None  # in which batches of it lie, until each of them has its result

    def place_in(self, block: Block) -> None:
        """A batch is appended from where it lies in a block, which has to stay until all results are there."""
        if self.block is None:
            self.block = block
            block.pin()
        assert self.block is block

    def settle(self, index: int, result: Result, *, is_lost: bool = False) -> None:
        """Take the result of one partition; the last one answers the request. A second result changes nothing.

        is_lost   no log has seen the batch, as far as this process knows
        """
        if self.results[index] is None:
            refused = self.exchange.connection.refused
            if result[0] or refused:
                topic, partition = self._place(index)
                if result[0] and self.is_silent:
                    name = ErrorCode(result[0]).name
                    self.exchange.close_connection(f"produce acks=0 failed partition={topic}-{partition} error={name}")
                if is_lost:
                    note_missing(self.exchange.connection.missing, topic, partition, result[0], None)
                error = error_to_tell(refused, topic, partition, result[0], self.is_current)
                if error == _ABORTABLE and self.exchange.api_version < VERSION_OF_ABORTABLE:
                    error = _NO_TRANSACTION
                result = (error, *result[1:])
            self.results[index] = result
            self.remaining -= 1
            if self.remaining == 0:
                if self.block is not None:
                    self.block.unpin()
                    self.block = None
                connection = self.exchange.connection
                try:
                    if not self.is_silent:
                        self.respond(self)
                except Exception as failure:
                    connection.contain(failure)
                connection.settle_produce()

    def settle_unsent(self, error: int) -> None:
        """What no process was notified of has this result."""
        for index, owner in enumerate(self.owners):
            if owner < 0:
                self.settle(index, (error, -1, -1, -1))

    def keep_text(self, index: int, text: str) -> None:
        """What the response will say of a result beside its error."""
        if self.texts is None:
            self.texts = {}
        self.texts[index] = text

    def keep_record_errors(self, index: int, records: list[int], reason: str) -> None:
        """The records of a batch that were refused, and why."""
        if self.record_errors is None:
            self.record_errors = {}
        self.record_errors[index] = records, reason

    def _place(self, index: int) -> tuple[str, int]:
        """The topic and the partition of a result. All are found at once: a request may have many rows, each of them refused."""
        if self._places is None:
            self._places = [(topic, partition) for topic, partitions in self.topics for partition in partitions]
        return self._places[index]


class ProduceLedger:
    """Produce requests in flight, by request id.

    header   where that of a PRODUCE message is put together
    placed   the same, of a PRODUCE_AT
    """

    def __init__(self) -> None:
        self.header = memoryview(bytearray(PRODUCE_HEADER.size))
        self.placed = memoryview(bytearray(PRODUCE_HEADER.size + PRODUCE_PLACE.size))
        self._pending: dict[int, PendingProduce] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._pending)

    def next_id(self, serial: int) -> int:
        """A request id that is unique in this process for the next 2**32 requests."""
        self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        return serial << SEQUENCE_BITS | self._sequence

    def open(self, request_id: int, pending: PendingProduce) -> None:
        """Expect results for a request."""
        self._pending[request_id] = pending

    def close(self, request_id: int) -> None:
        """A request was answered without any result from a ring."""
        self._pending.pop(request_id, None)

    def take_results(self, body: memoryview) -> None:
        """Settle a RESULT message."""
        pending_by_id = self._pending
        for position in range(0, len(body), ENTRY_BYTES):
            request_id, index, error, base_offset, append_time_ms, log_start_offset = unpack_result(body, position)
            pending = pending_by_id.get(request_id)
            if pending is None:
                continue
            pending.settle(index, (error, base_offset, append_time_ms, log_start_offset))
            if pending.remaining == 0:
                del pending_by_id[request_id]

    def forget_unsent(self, header: bytes) -> None:
        """A PRODUCE message was dropped with its closed connection: no result will come for it."""
        request_id, _slot, _key, index, *_ = PRODUCE_HEADER.unpack_from(header)
        pending = self._pending.get(request_id)
        if pending is not None:
            pending.settle(index, (int(ErrorCode.NOT_LEADER_OR_FOLLOWER), -1, -1, -1), is_lost=True)
            if pending.remaining == 0:
                del self._pending[request_id]

    def take_text(self, body: memoryview) -> None:
        """Keep an error message for the RESULT that follows."""
        request_id, index = RESULT_TEXT_HEADER.unpack_from(body)
        pending = self._pending.get(request_id)
        if pending is not None:
            pending.keep_text(index, bytes(body[RESULT_TEXT_HEADER.size :]).decode("utf-8", "replace"))

    def fail_owner(self, process_id: int) -> None:
        """A partition worker died: what it owes may be stored or not, which REQUEST_TIMED_OUT says."""
        for request_id, pending in list(self._pending.items()):
            for index, owner in enumerate(pending.owners):
                if owner == process_id:
                    pending.settle(index, (int(ErrorCode.REQUEST_TIMED_OUT), -1, -1, -1), is_lost=True)
            if pending.remaining == 0:
                del self._pending[request_id]
