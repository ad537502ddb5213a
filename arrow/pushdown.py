"""What a filter says of offsets, times and partitions before anything is read.

Runs in: the process that plans. An Arrow expression can't be taken apart, but Arrow proves for a dataset's fragments whether a filter
contradicts what is known of one ("offset <= 41"). Asking that by bisection gives the bounds: nothing up to an offset can match, nothing
from one on, nothing up to a time. A bound is used only where it was proved: an expression that Arrow does not see through prunes nothing,
nor does a value that it can't compare with what is known (2**63 - 1 with 4.5).

    offset    the range begins and ends there
    time      the range begins at the first record that is not older, by ListOffsets (the time index); a later older record is filtered
    partition those of which none can match have no range, by topic too
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.client.cluster import EARLIEST
from headrace.ids import TopicPartition

INT64_LAST = 2**63 - 1

OffsetsAt = Callable[[dict[TopicPartition, int]], dict[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class Pushed:
    """Proved bounds of what can match.

    first, last    offsets
    earliest_us    microseconds since 1970; None: no bound
    """

    first: int = 0
    last: int = INT64_LAST
    earliest_us: int | None = None

    def describe(self) -> str:
        """For people; '' if there is no bound."""
        parts = [f"offset >= {self.first}"] if self.first else []
        if self.last < INT64_LAST:
            parts.append(f"offset <= {self.last}")
        if self.earliest_us is not None:
            parts.append(f"timestamp >= {_time(self.earliest_us)}")
        return ", ".join(parts)


def pushed(where: Any, schema: pa.Schema) -> Pushed:
    """The bounds that a filter over these columns has. A function, or None, has none."""
    if not isinstance(where, pc.Expression):
        return Pushed()
    names = set(schema.names)
    found = Pushed()
    if "offset" in names:
        field = pc.field("offset")
        first = _last_proved(lambda value: _contradicts(where, schema, field <= value), -1, INT64_LAST) + 1
        after = -_last_proved(lambda value: _contradicts(where, schema, field >= -value), -INT64_LAST, 0)
        found = Pushed(first, after if after == INT64_LAST else after - 1)
    if "timestamp" in names:
        kind = schema.field("timestamp").type
        field = pc.field("timestamp")
        before = _last_proved(
            lambda value: _contradicts(where, schema, field <= pa.scalar(value, kind)), -1, INT64_LAST
        )
        found = Pushed(found.first, found.last, before + 1 if before >= 0 else None)
    return found


def narrowed(
    offsets_at: OffsetsAt, where: Any, schema: pa.Schema, bounds: dict[TopicPartition, tuple[int, int]]
) -> dict[TopicPartition, tuple[int, int]]:
    """(start, end) by partition without what can't match.

    offsets_at   `Cluster.offsets`; asked only if the filter has a bound of time
    raises       KafkaError, ConnectionFailed
    """
    return narrowed_to(offsets_at, pushed(where, schema), partitions_left(where, schema, list(bounds)), bounds)


def narrowed_to(
    offsets_at: OffsetsAt,
    found: Pushed,
    left: Iterable[TopicPartition],
    bounds: dict[TopicPartition, tuple[int, int]],
) -> dict[TopicPartition, tuple[int, int]]:
    """The same, of bounds that were found before."""
    left = list(left)
    at_time: dict[TopicPartition, int] = {}
    if found.earliest_us is not None and left:
        at_time = offsets_at(dict.fromkeys(left, -(-found.earliest_us // 1000)))
        starts = offsets_at(dict.fromkeys(left, EARLIEST))
        # Records that were removed since the plan may be late enough: they are to be missed, not passed over.
        at_time = {name: offset for name, offset in at_time.items() if starts[name] <= bounds[name][0]}
    narrow = {}
    for name in left:
        start, end = bounds[name]
        offset = at_time.get(name, start)
        start = max(start, found.first, end if offset < 0 else offset)
        end = min(end, found.last + 1)
        if start < end:
            narrow[name] = start, end
    return narrow


def partitions_left(where: Any, schema: pa.Schema, names: list[TopicPartition]) -> list[TopicPartition]:
    """Those of which a row can match."""
    columns = {"topic", "partition"} & set(schema.names)
    if not columns or not isinstance(where, pc.Expression):
        return names
    known = []
    for name in names:
        parts = [pc.field(column) == getattr(name, column) for column in sorted(columns)]
        known.append(parts[0] if len(parts) == 1 else parts[0] & parts[1])
    kept = _possible(where, schema, known)
    return [name for index, name in enumerate(names) if index in kept]


def _last_proved(is_proved: Callable[[int], bool], low: int, high: int) -> int:
    """The largest value found for which something is proved; `low`, for which it need not be, if there is none."""
    if is_proved(high):
        return high - 1
    if not is_proved(low + 1):
        return low
    while high - low > 1:
        middle = (low + high) // 2
        if is_proved(middle):
            low = middle
        else:
            high = middle
    return low


def _contradicts(where: Any, schema: pa.Schema, known: Any) -> bool:
    return not _possible(where, schema, [known])


def binds(where: Any, schema: pa.Schema) -> bool:
    """Whether a filter can be computed over these columns."""
    try:
        list(_assumed(schema, [pc.scalar(True)]).get_fragments(filter=where))
    except pa.ArrowException:
        return False
    return True


def _possible(where: Any, schema: pa.Schema, known: Sequence[Any]) -> set[int]:
    """Indexes of the facts under which a row may match."""
    try:
        return {int(fragment.path) for fragment in _assumed(schema, known).get_fragments(filter=where)}
    except pa.ArrowException:  # the filter itself was checked before
        return set(range(len(known)))


def _assumed(schema: pa.Schema, known: Sequence[Any]) -> Any:
    """A data set whose fragments are named by their index, and of which these facts are known. Nothing of it is read."""
    import pyarrow.dataset as ds  # slow to import, and only for filters

    paths = [str(index) for index in range(len(known))]
    return ds.FileSystemDataset.from_paths(
        paths, schema=schema, format=ds.IpcFileFormat(), filesystem=pa.fs.LocalFileSystem(), partitions=list(known)
    )


def _time(microseconds: int) -> str:
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return f"{microseconds} us"
