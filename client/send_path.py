"""What most records that are sent have in common, in one call of the kernel's: `SendPath.send`.

The fast way is C alone (`protocol/kernel/send_path.c`): a known topic, an open batch with room, bytes or None, the time of now. Everything
else is `slow`, the producer's own `send`. Where there is no kernel every record takes that: these classes say what the fast way
keeps count of, and no more.

    path.routes[topic]      a SendRoute: the targets of its partitions, and the one for records without a key
    route.place(i, target)  a partition that is used; target.open(builder, batch) while it has an open batch, else target.close()
    path.open_bytes         of records in open batches; from `allowance` on the next record takes the slow way, which waits
    path.next_turn_ns       of the monotonic clock: from then on as well, so that the engine is turned in time
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.protocol import record_kernel


class PythonSendTarget:
    """A partition's open batch."""

    def open(self, builder: Any, batch: Any, /) -> None: ...

    def close(self) -> None: ...


class PythonSendRoute:
    """A topic's targets."""

    def resize(self, partitions: int, /) -> None: ...

    def place(self, partition: int, target: Any, /) -> None: ...

    def stick(self, target: Any, /) -> None: ...


class PythonSendPath:
    """A producer's way without the kernel."""

    def __init__(
        self, _delivery: type[Any], _producer: Any, slow: Callable[..., Any] | None, _batch_size: int, /
    ) -> None:
        self.routes: dict[str, Any] = {}
        self.open_bytes = 0
        self.allowance = 0
        self.next_turn_ns = 0
        self.wall_offset_ns = 0
        self._slow = slow
        self._is_closed = False

    def send(self, *args: Any, **named: Any) -> Any:
        """A delivery; None where there is no slow way. raises RuntimeError after `close`, and what the slow way raises"""
        if self._is_closed:
            raise RuntimeError("the producer is closed")
        return None if self._slow is None else self._slow(*args, **named)

    def add(self, count: int, /) -> None:
        """Open batches grew by this many bytes, or were closed (less than 0)."""
        self.open_bytes += count

    def close(self) -> None:
        """Nothing is sent any more."""
        self._is_closed = True
        self._slow = None


SendTarget: Final[Any] = record_kernel.SendTarget or PythonSendTarget
SendRoute: Final[Any] = record_kernel.SendRoute or PythonSendRoute
SendPath: Final[Any] = record_kernel.SendPath or PythonSendPath
