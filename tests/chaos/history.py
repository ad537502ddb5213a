"""What clients did to a node and what they were told: the operations that a judge reads.

Used by: the campaigns, whose threads append; the judges, which only read. Times are of one monotonic clock.

An operation ends OK, FAILED (it certainly did nothing) or UNKNOWN (a timeout, a disconnect, an error that leaves it
open). A topic's *generation* counts its incarnations: a topic that is deleted and created again has the same name and
the next generation. An UNKNOWN operation may take effect later, in a later generation too.

Source: Jepsen's `tests.kafka` workload; hazards, "How delivery is judged".
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

FRESH = "fresh"  # the client that reads everything at the end
NO_OFFSET = -1


class Outcome(Enum):
    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Record(NamedTuple):
    """A record as a client saw it; `value` is what was sent, or the bytes' text where they are not what was sent."""

    partition: int
    offset: int
    value: str


class Send(NamedTuple):
    """Values of one batch, for one partition; `base_offset` is the first one's, where acknowledged and told.

    A duplicate that the broker knows again may be acknowledged without it: NO_OFFSET.

    transaction   the name of the transaction that it belongs to; its outcome then says whether it was taken into it
    """

    client: str
    topic: str
    generation: int
    partition: int
    values: tuple[str, ...]
    outcome: Outcome
    base_offset: int
    began: float
    ended: float
    transaction: str = ""


class Poll(NamedTuple):
    """What one poll brought, in its order.

    position          the offset that was asked for; NO_OFFSET: where the client's last poll of the partition ended
    is_buffered       it may have been fetched well before the poll began
    group             the group of whose member it is; `client` names the member and its assignment, in which order holds
    transaction       the transaction in which it was made
    reads_committed   with isolation level read_committed
    """

    client: str
    topic: str
    generation: int
    records: tuple[Record, ...]
    began: float
    ended: float
    position: int = NO_OFFSET
    is_buffered: bool = False
    group: str = ""
    transaction: str = ""
    reads_committed: bool = False


class TransactionEnd(NamedTuple):
    """A transaction was committed (OK), aborted (FAILED), or nobody knows."""

    client: str
    transaction: str
    outcome: Outcome
    began: float
    ended: float


class Commit(NamedTuple):
    group: str
    topic: str
    generation: int
    partition: int
    offset: int
    outcome: Outcome
    began: float
    ended: float


class Committed(NamedTuple):
    """A group's offset as it was read.

    is_settled   the topic's generation began long enough ago for everybody to know
    """

    group: str
    topic: str
    generation: int
    partition: int
    offset: int
    began: float
    ended: float
    is_settled: bool = True


class Trim(NamedTuple):
    """DeleteRecords: up to `asked`; `low_watermark` where answered."""

    topic: str
    generation: int
    partition: int
    asked: int
    low_watermark: int
    outcome: Outcome
    began: float
    ended: float


class Create(NamedTuple):
    """A generation of a topic began; it was known at `ended`."""

    topic: str
    generation: int
    began: float
    ended: float


class Delete(NamedTuple):
    """A deletion was asked for: nothing of this generation has to be there any more."""

    topic: str
    generation: int
    outcome: Outcome
    began: float
    ended: float


class Crash(NamedTuple):
    """All of the node was killed; `log_starts` is what its log start checkpoints said then, by (topic, partition)."""

    at: float
    log_starts: Mapping[tuple[str, int], int]


class CleanStop(NamedTuple):
    """The node stopped in order: everything that it knew is on disk."""

    at: float


Operation = Send | Poll | TransactionEnd | Commit | Committed | Trim | Create | Delete | Crash | CleanStop


class History:
    """Operations in the order in which they ended; many threads append."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._lock = threading.Lock()

    def add(self, operation: Operation) -> None:
        with self._lock:
            self.operations.append(operation)

    def __len__(self) -> int:
        return len(self.operations)
