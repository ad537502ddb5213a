"""One table, past and present: what was loaded up to the last commit, and the log from exactly there.

    read the target once: the files and the offsets of one commit
    plan the log from these offsets to the high watermarks of now
    hand on the rows of the files, then those of the log

A loader may commit, compact and be killed meanwhile: what it commits later is read from the log all the same, up to the offsets that
were frozen before. So each record is there once. Where the log no longer has the offsets after the commit that was read, a newer
commit has them: it is read instead.

    clicks = headrace.table("clicks", history="/data/clicks")
    duckdb.sql("select count(*) from clicks where offset > 5")   # clicks.lazy() for Polars, clicks.read_all().to_pandas()
    moment = clicks.snapshot()                                   # for several queries over the same rows

How rows are read, and what of them is not, is in `table_scan.py`; how DuckDB and Polars find them in `scanned_table.py`.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.errors import DataLoss
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.planner import plan
from headrace.arrow.scan_options import Bound, ScanOptions
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.leader_epochs import Position, truncations
from headrace.ids import TopicPartition
from headrace.limits import LOAD_LIST_TRIES_MAX
from headrace.load.commits import Snapshot, TopicOffsets, same_topic
from headrace.load.contents import ALWAYS, Contents, contents_of
from headrace.load.errors import TopicReplaced
from headrace.load.history import schema_of
from headrace.load.scanned_table import ScannedTable
from headrace.load.schemas import evolved
from headrace.load.table_scan import Moment, Place
from headrace.load.target import Target
from headrace.load.targets import open_target

if TYPE_CHECKING:
    from headrace.spark.decoding.decode_plan import Decode

PAUSE_S = 0.1

Live = Callable[[ScanOptions], list[OffsetRange]]


class LiveTable(ScannedTable):
    """A topic's records, loaded and not; each pass over it, and each query, is of its own moment."""

    def __init__(
        self,
        topic: str,
        target: Target,
        contents: Contents,
        columns: Sequence[str] | None,
        bootstrap_servers: str,
        where: pc.Expression | None = None,
        read_committed: bool | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        schema = joint_schema(target.read(), contents, columns)
        if columns is None:  # to count rows, DuckDB reads the first column: topic, of which a file need not be opened
            schema = pa.schema(sorted(schema, key=lambda field: field.name not in ALWAYS))
        super().__init__(Place(topic, target, contents, bootstrap_servers), schema, where)
        self._names = schema.names
        self._read_committed = read_committed
        self._sleep = sleep

    @property
    def schema(self) -> pa.Schema:
        """The types that the history has by now: its columns may have become wider. Columns that came later stay out."""
        return self._schema_of(self._place.target.read())

    def snapshot(self) -> TableSnapshot:
        """The table as it is now, for several queries: `with clicks.snapshot() as moment`. raises DataLoss, TopicReplaced"""
        return TableSnapshot(self._place, self._moment(), self._where)

    def _moment(self) -> Moment:
        place = self._place
        snapshot, ranges = read_moment(
            place.target, place.topic, place.bootstrap_servers, plan, self._read_committed, self._sleep
        )
        return Moment(snapshot, tuple(ranges), self._schema_of(snapshot))

    def _again(self) -> Callable[[], Moment]:
        return self._moment

    def _filtered(self, where: pc.Expression) -> LiveTable:
        place = self._place
        return LiveTable(
            place.topic,
            place.target,
            place.contents,
            self._names,
            place.bootstrap_servers,
            where,
            self._read_committed,
            self._sleep,
        )

    def _schema_of(self, snapshot: Snapshot) -> pa.Schema:
        return joint_schema(snapshot, self._place.contents, self._names)


class TableSnapshot(ScannedTable):
    """A table at one moment: every query over it reads the files of one commit, and the log up to the high watermarks as they were.

    It holds nothing open, and keeps nothing from being removed. What the log's retention removes is missed, by DataLoss; in a compacted
    topic, records that newer ones replace go without a word. Files that a merge replaced are there for an hour.

    commit    its number
    offsets   by partition, the offset after the last record that it has
    schema    of its rows
    """

    def __init__(self, place: Place, moment: Moment, where: pc.Expression | None) -> None:
        super().__init__(place, moment.schema, where)
        self._frozen = moment
        self._is_closed = False

    @property
    def schema(self) -> pa.Schema:
        return self._frozen.schema

    @property
    def commit(self) -> int:
        return self._frozen.snapshot.number

    @property
    def offsets(self) -> dict[int, int]:
        return self._frozen.ends(self._place.topic)

    def close(self) -> None:
        """No more queries."""
        self._is_closed = True

    def __enter__(self) -> TableSnapshot:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def _moment(self) -> Moment:
        """raises   ValueError, after `close`"""
        if self._is_closed:
            raise ValueError(
                f"the snapshot of {self._place.topic} is closed: query it within its with block, or take a new one"
            )
        return self._frozen

    def _filtered(self, where: pc.Expression) -> TableSnapshot:
        return TableSnapshot(self._place, self._moment(), where)


def table(
    topic: str,
    *,
    history: str | os.PathLike[str] | Target,
    bootstrap_servers: str = "127.0.0.1:9092",
    columns: str | Sequence[str] | None = None,
    decode: Decode | None = None,
    decode_mode: str = "fail",
    bad_times: str = "dead",
    where: pc.Expression | None = None,
    read_committed: bool | None = None,
) -> LiveTable:
    """A topic as one table: its loaded history and the live log after it. Each query over it sees all records that were acknowledged
    before it began, each once; what it selects and filters is pushed down. A query that names the table twice reads it twice: where
    both are to be of one moment, query `snapshot()`.

    history       where `headrace load` loads the topic to
    columns       to read; None: all that the history has, topic, partition, offset and timestamp first
    decode        as of the load: the live part is parsed by it; decode_mode and bad_times as well
    where         an expression of pyarrow.compute over these columns
    read_committed   the live part without records of open and aborted transactions; None: as the last load read
    raises        ValueError: an argument is wrong, or the log does not give a column that the history has
    """
    if not isinstance(topic, str) or not topic or "," in topic:
        raise ValueError(f"topic {topic!r}: expected the name of one topic")
    if where is not None and not isinstance(where, pc.Expression):
        raise ValueError(f"where {where!r}: expected an expression, such as pyarrow.compute.field('offset') > 100")
    if isinstance(columns, str):
        columns = [part.strip() for part in columns.split(",") if part.strip()]
    contents = contents_of(None, decode, decode_mode, with_headers=True, bad_times=bad_times)
    return LiveTable(topic, open_target(history), contents, columns, bootstrap_servers, where, read_committed)


def joint_schema(snapshot: Snapshot, contents: Contents, columns: Sequence[str] | None) -> pa.Schema:
    """What the history and the log have together; the log has null in columns that other programs added to the history.

    raises   ValueError, SchemaConflict
    """
    live = contents.schema()
    past = schema_of(snapshot)
    if not past.names:
        past = pa.schema([field for field in live if field.name != "headers"])
    names = list(past.names if columns is None else columns)
    unknown = [name for name in names if name not in past.names]
    if unknown or not names:
        raise ValueError(f"columns {unknown or names}: the history has {', '.join(past.names)}")
    missing = [name for name in names if name not in live.names]
    if not set(missing) <= set(snapshot.foreign):
        raise ValueError(
            f"the history has the columns {', '.join(missing)}, and the log does not give them: pass decode= as it was loaded, or leave "
            "them out of columns"
        )
    common = [live.field(name) for name in names if name not in missing]
    return evolved(pa.schema([past.field(name) for name in names]), pa.schema(common))


def read_moment(
    target: Target,
    topic: str,
    bootstrap_servers: str,
    planned: Live,
    read_committed: bool | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Snapshot, Any]:
    """A commit, and the plan of the log from exactly its offsets.

    read_committed   of the plan; None: as the last load read
    raises   DataLoss, if the log lost records that no commit has; TopicReplaced
    """
    for tries_left in range(LOAD_LIST_TRIES_MAX - 1, -1, -1):
        snapshot = target.read()
        known = snapshot.offsets.get(topic)
        starts = {TopicPartition(topic, index): at for index, at in known.next_offsets.items()} if known else {}
        isolation = snapshot.is_read_committed if read_committed is None else read_committed
        start = Bound(EARLIEST, offsets=starts)
        options = ScanOptions(bootstrap_servers, (topic,), start=start, read_committed=isolation)
        try:
            ranges = planned(options)
        except DataLoss as failure:
            newer = target.read()
            if newer.number == snapshot.number and not tries_left:
                if known is not None:
                    _check_log(bootstrap_servers, target.name, topic, dataclasses.replace(known, epochs={}))
                raise DataLoss(
                    f"{failure}; the last commit of {target.name} is {snapshot.number}: a load has to run before retention does"
                ) from None
            sleep(PAUSE_S)  # for a newer commit, or a new leader's high watermark
            continue
        if known is not None:
            for one in ranges if isinstance(ranges, list) else ():  # of a cluster without ids, they are in the files
                _check_id(topic, known.topic_id, one.topic_id)
            _check_log(bootstrap_servers, target.name, topic, known)
        return snapshot, ranges
    raise DataLoss(f"{target.name}: every commit read in {LOAD_LIST_TRIES_MAX} tries ends before the start of the log")


def _check_id(topic: str, known: str, found: str) -> None:
    """raises   TopicReplaced"""
    if not same_topic(known, found):
        raise TopicReplaced(
            f"{topic} was deleted and created again after it was loaded (its id was {known}, it is {found} now)"
        )


def _check_log(bootstrap_servers: str, target: str, topic: str, known: TopicOffsets) -> None:
    """That the cluster's topic is the one that was loaded, still has the records before the commit's offsets, and all records of
    partitions that came since. Asked whatever was planned: a new topic that ends at the commit's offset gives no range, and Spark's
    plan does not say its topic's id.

    raises   TopicReplaced, DataLoss, KafkaError, ConnectionFailed
    """
    positions = {
        TopicPartition(topic, index): Position(known.next_offsets[index], epoch)
        for index, epoch in known.epochs.items()
    }
    with Cluster(bootstrap_servers) as cluster:
        _check_id(topic, known.topic_id, cluster.retried(lambda: cluster.topic_ids.get(topic, ""), {topic}))
        _check_new(cluster, target, topic, known)
        if not positions:
            return
        cluster.offsets(dict.fromkeys(positions, LATEST))
        cuts = truncations(cluster, positions)
    if cuts:
        some = ", ".join(f"{name} from {'an unknown offset' if at < 0 else at} on" for name, at in sorted(cuts.items()))
        raise DataLoss(
            f"{target} has records that the log no longer has: it was truncated, and has others now ({some}); "
            "headrace load rewind rolls the table back to what both have"
        )


def _check_new(cluster: Cluster, target: str, topic: str, known: TopicOffsets) -> None:
    """raises   DataLoss, where a partition that came after the first load has lost records that no commit has"""
    new = [
        name
        for name in cluster.partitions
        if name.topic == topic and name.partition not in known.next_offsets and name.partition not in known.waiting
    ]
    for name, low in sorted(cluster.offsets(dict.fromkeys(new, EARLIEST)).items() if new else ()):
        if low > 0:
            raise DataLoss(
                f"{name} is newer than the last commit of {target}, and its log begins at {low} and not at 0: a load has to run before "
                "retention does"
            )
