"""What a coordinator is to its host, and the events that every coordinator gets from there.

    Loaded         the log was read to its end: requests are taken from now on
    Unloaded       this node leads the partition no more: the senders of what waits are notified
    Appended       an `Append` is committed: it is in the log, and the high watermark has passed it
    AppendFailed   it is not, or was not in time
    AppendLate     it was not in time, and its outcome comes still: of kinds that wait for it
    Upkeep         now and then: what is too old can go
    TopicsDeleted  so that nothing of them has to be kept

Requests and timers are events of the coordinator's own. The time comes with each event; nothing else is asked for.

Pure. Models: h11 (events in, events out, no sockets), Dask's `WorkerState` (stimuli in, instructions out).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

from headrace.errors import ErrorCode
from headrace.protocol.record_batch import RecordBatchHeader

NO_ROOM: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
)  # why an append fails on a full disk: it may be tried again here


class Loaded(NamedTuple):
    """After the last `load`."""


class Unloaded(NamedTuple):
    """The last event but the outcomes of what is still being appended."""


class Appended(NamedTuple):
    """`what` of the Append, and the offset of its last record."""

    what: Any
    offset: int


class AppendFailed(NamedTuple):
    """`what` of the Append, and why."""

    what: Any
    error: ErrorCode


class AppendLate(NamedTuple):
    """`what` of the Append. Its record is in the log, and may be committed yet."""

    what: Any


class Upkeep(NamedTuple):
    """Comes at the interval that the kind asks for.

    expiry_ms   the date by which retention is over; it may be before the wall clock's
    """

    expiry_ms: int


class TopicsDeleted(NamedTuple):
    """Names of topics that are no more; another one may have the name already."""

    names: frozenset[str]


class Coordinator(Protocol):
    """The state machine of one partition. It is loading from the moment it is made.

    is_loading     until `Loaded`
    has_followed   whether nothing is left here, nor in the log, of topics that were deleted
    """

    @property
    def is_loading(self) -> bool: ...

    @property
    def has_followed(self) -> bool: ...

    def load(self, header: RecordBatchHeader, batch: memoryview) -> int:
        """The next batch of the log; returns what it cost, in bytes. Raises nothing, whatever the batch holds."""

    def prepare(self, room: int) -> int:
        """Some more of what the log had is made ready, for about `room` bytes; returns what it cost, 0: all of it is."""

    def report(self, fault: str) -> None:
        """Something of the log could not be read, and is left out."""

    def reload(self) -> None:
        """Forget what was loaded: the log is read again from its start."""

    def step(self, event: Any, now_ms: int, date_ms: int) -> list[Any]:
        """The effects of an event.

        now_ms    for deadlines: no date
        date_ms   for what is stored
        """

    def snapshot(self) -> str:
        """What it holds, as `key=value` for the log; nothing where that is nothing."""
