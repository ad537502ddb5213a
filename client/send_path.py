"""What most records that are sent have in common, in one call of the kernel's: `SendPath.send`.

The fast way is C alone (`protocol/kernel/send_path.c`): a known topic, an open batch with room, bytes or None, the time of now. Everything
else is `slow`, the producer's own `send`. Where there is no kernel every record takes that.

Many records with keys take `spread`, one call for each batch that is full, not for each record.

    path.routes[topic]      a SendRoute: the targets of its partitions, and the one for records without a key
    route.place(i, target)  a partition that is used; target.open(builder, batch) while it has an open batch, else target.close()
    path.open_bytes         of records in open batches; from `allowance` on the next record takes the slow way, which waits
    path.next_turn_ns       of the monotonic clock: from then on as well, so that the engine is turned in time
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.client.partitioner import partition_of
from headrace.protocol import record_kernel
from headrace.protocol.batch_builder import Column, span_of
from headrace.protocol.record_batch import Buffer


class PythonSendTarget:
    """A partition's open batch."""

    def __init__(self) -> None:
        self.builder: Any = None  # None while it is closed

    def open(self, builder: Any, _batch: Any, /) -> None:
        self.builder = builder

    def close(self) -> None:
        self.builder = None


class PythonSendRoute:
    """A topic's targets."""

    def __init__(self) -> None:
        self.targets: list[PythonSendTarget | None] = []
        self.sticky: PythonSendTarget | None = None

    def resize(self, partitions: int, /) -> None:
        self.targets += [None] * (partitions - len(self.targets))

    def place(self, partition: int, target: PythonSendTarget, /) -> None:
        self.targets[partition] = target

    def stick(self, target: PythonSendTarget | None, /) -> None:
        self.sticky = target

    def target_of(self, key: Buffer | None) -> PythonSendTarget | None:
        """Where a record with this key goes; None: not used yet."""
        if key is None:
            return self.sticky
        return self.targets[partition_of(key, len(self.targets))] if self.targets else None


class PythonSendPath:
    """A producer's way without the kernel."""

    def __init__(
        self, _delivery: type[Any], _producer: Any, slow: Callable[..., Any] | None, batch_size: int, /
    ) -> None:
        self.routes: dict[str, Any] = {}
        self.open_bytes = 0
        self.allowance = 0
        self.next_turn_ns = 0
        self.wall_offset_ns = 0
        self._slow = slow
        self._batch_size = batch_size
        self._is_closed = False

    def send(self, *args: Any, **named: Any) -> Any:
        """A delivery; None where there is no slow way. raises RuntimeError after `close`, and what the slow way raises"""
        if self._is_closed:
            raise RuntimeError("the producer is closed")
        return None if self._slow is None else self._slow(*args, **named)

    def spread(
        self,
        route: PythonSendRoute,
        values: list[Any] | tuple[Any, ...],
        keys: list[Any] | tuple[Any, ...],
        timestamp_ms: int,
        start: int,
        /,
    ) -> int:
        """Put records into the open batches of their partitions.

        returns   the index of the first record that was not taken: its partition has no open batch with room for it, or memory is used up
        raises    as `BatchBuilder.extend`; records before the one that is wrong are taken
        """

        def put(builder: Any, index: int) -> int:
            taken: int = builder.extend(values, keys, timestamp_ms, index, self._batch_size, index + 1)
            return taken

        if len(keys) != len(values):
            raise ValueError(f"keys: {len(keys)} keys for {len(values)} values")
        return self._spread(route, lambda index: span_of(f"keys[{index}]", keys[index]), start, len(values), put)

    def spread_columns(
        self, route: PythonSendRoute, values: Column, keys: Column, timestamp_ms: int, start: int, stop: int, /
    ) -> int:
        """The same for the rows `start` to `stop` of columns."""

        def put(builder: Any, row: int) -> int:
            taken: int = builder.extend_columns(values, keys, timestamp_ms, row, row + 1, self._batch_size)
            return taken

        return self._spread(route, keys.row, start, stop, put)

    def _spread(
        self,
        route: PythonSendRoute,
        key_of: Callable[[int], Buffer | None],
        start: int,
        stop: int,
        put: Callable[[Any, int], int],
    ) -> int:
        for index in range(start, stop):
            target = route.target_of(key_of(index)) if self.open_bytes < self.allowance else None
            if target is None or target.builder is None:
                return index
            before = target.builder.size_bytes
            taken = put(target.builder, index)
            self.open_bytes += target.builder.size_bytes - before
            if taken == index:
                return index
        return stop

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
