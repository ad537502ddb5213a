"""`headrace consume TOPIC`: records to standard output, up to the end as it was at the start, or for ever."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.arguments import Start, bad, parse_group, parse_partitions, parse_start, parse_topic
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.cli.record_text import DEFAULT_FORMAT, Render, compile_format, render_json

if TYPE_CHECKING:
    from headrace.cli.interrupt import Interrupt
    from headrace.client.cluster import Cluster
    from headrace.client.consumer import Consumer, Fetched
    from headrace.client.group_member import GroupMember
    from headrace.ids import TopicPartition

MESSAGES_MAX = 2**62
COMMIT_EVERY_S = 5.0
METADATA_EVERY_S = 60.0
EXAMPLES = """
[bold]Examples[/bold]

headrace consume clicks --from -10

headrace consume clicks --from @-15m --follow --json | jq .value

headrace consume clicks --partition 0,2 --from 1000 --max-messages 5 --format '%p %o %k=%s\\n'

headrace consume clicks --group billing --follow
"""


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic to read.")],
    start: Annotated[
        str,
        typer.Option(
            "--from",
            "-o",
            metavar="WHERE",
            help="Start at earliest, latest, an offset, -N (last N per partition) or @TIME: 2026-11-21T08:30:00Z, ms since 1970, -15m.",
        ),
    ] = "earliest",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep waiting for new records.")] = False,
    max_messages: Annotated[
        int | None,
        typer.Option("--max-messages", "-c", metavar="N", min=1, max=MESSAGES_MAX, help="Stop after N records."),
    ] = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option("--partition", "-p", metavar="LIST", help="Only these partitions: 0, 0,2 or 3-5; repeatable."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Consume as a member of this group, from its committed offsets (--from where it has none), and commit.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="%t topic, %p partition, %o offset, %T timestamp (ms), %k key, %s value, %h headers, %K %S sizes (bytes), \\n \\t.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    null: Annotated[str, typer.Option(metavar="TEXT", help="Text printed for a null key or value.")] = "",
    read_committed: Annotated[
        bool, typer.Option("--read-committed", help="Skip records of open and aborted transactions.")
    ] = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Print a topic's records: those it has now, or with --follow new ones too, until Ctrl-C."""
    from headrace.cli.interrupt import Interrupt
    from headrace.client.consumer import Consumer

    parse_topic("TOPIC", topic)
    begin = parse_start("--from", start, int(time.time() * 1000))
    chosen = parse_partitions("--partition", partitions) if partitions else None
    if as_json and template is not None:
        raise typer.BadParameter("--json and --format can't be combined")
    render = render_json if as_json else compile_format("--format", template or DEFAULT_FORMAT, null.encode())
    if group is not None:
        _check_group(group, chosen, begin, start)
    cluster = open_cluster(bootstrap, command_config)
    with Interrupt() as interrupt, cluster:
        cluster.refresh([topic])
        consumer = Consumer(cluster, is_read_committed=read_committed)
        output = Output(render, max_messages)
        if group is None:
            names = _names(cluster, topic, chosen)
            consumer.assign(*_ranges(cluster, names, begin, follow, read_committed))
            discovery = PartitionDiscovery(lambda: open_cluster(bootstrap, command_config), consumer, topic)
            _print_all(consumer, output, interrupt, discovery if follow and chosen is None else None)
        else:
            with open_cluster(bootstrap, command_config) as group_cluster:
                reader = GroupReader(group_cluster, consumer, group, topic, begin, follow, read_committed)
                reader.run(output, interrupt)
        return interrupt.exit_code


class Output:
    """Writes records to standard output, up to a number."""

    def __init__(self, render: Render, wanted: int | None) -> None:
        self._render = render
        self._left = wanted
        self._file = sys.stdout.buffer

    @property
    def is_done(self) -> bool:
        return self._left == 0

    def write(self, fetched: list[Fetched]) -> dict[TopicPartition, int]:
        """Print records, and flush; returns the next offset of each partition of which something was printed."""
        render = self._render
        printed = {}
        for name, records in fetched:
            if self._left is not None:
                records = records[: self._left]
                self._left -= len(records)
            if records:
                self._file.write(b"".join([render(name.topic, name.partition, record) for record in records]))
                printed[name] = records[-1].offset + 1
        self._file.flush()
        return printed


class PartitionDiscovery:
    """Finds partitions added to a topic while it is followed; they are read from their first record on.

    open_cluster   called for each check: the consumer's connections have fetches in flight
    """

    def __init__(
        self,
        open_cluster: Callable[[], Cluster],
        consumer: Consumer,
        topic: str,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_cluster = open_cluster
        self._consumer = consumer
        self._topic = topic
        self._clock_s = clock_s
        self._check_at_s = clock_s() + METADATA_EVERY_S

    def check(self) -> None:
        """Assign new partitions to the consumer; asks for metadata at most every METADATA_EVERY_S."""
        from headrace.client.cluster import EARLIEST
        from headrace.errors import HeadraceError

        if self._clock_s() < self._check_at_s:
            return
        self._check_at_s = self._clock_s() + METADATA_EVERY_S
        known = self._consumer.positions
        try:
            with self._open_cluster() as cluster:
                cluster.refresh([self._topic])
                fresh = [name for name in cluster.partitions if name not in known]
                if fresh:
                    self._consumer.assign({**known, **cluster.offsets(dict.fromkeys(fresh, EARLIEST))}, {})
        except HeadraceError:
            pass  # the consumer reports errors that last


class GroupReader:
    """A member of a group: prints the records of its partitions and commits their offsets.

    group_cluster   a second connection: the member refreshes its metadata, and the consumer closes connections; requests of a
                    new generation go there too, as the consumer's connections have fetches in flight
    """

    def __init__(
        self,
        group_cluster: Cluster,
        consumer: Consumer,
        group: str,
        topic: str,
        begin: Start,
        follow: bool,
        read_committed: bool,
    ) -> None:
        from headrace.client.group_member import GroupMember

        self._cluster = group_cluster
        self._consumer = consumer
        self._begin = begin
        self._follow = follow
        self._read_committed = read_committed
        self._member: GroupMember = GroupMember(group_cluster, group, [topic])
        self._done: dict[TopicPartition, int] = {}  # printed, not committed yet
        self._commit_at_s = 0.0

    def run(self, output: Output, interrupt: Interrupt) -> None:
        """Run until the end, or a signal; then leave the group."""
        consumer, member = self._consumer, self._member
        try:
            while not output.is_done and not interrupt:
                if not member.heartbeat():
                    self._commit()
                    try:
                        with interrupt.at_once():
                            names = member.join()
                    except KeyboardInterrupt:
                        return
                    self._resume(names, member.committed(names) if names else {})
                if consumer.is_done and not self._follow:
                    break
                self._done.update(output.write(self._poll()))
                if time.monotonic() >= self._commit_at_s:
                    self._commit()
            self._commit()
        finally:
            member.leave()

    def _poll(self) -> list[Fetched]:
        """raises   KafkaError; OFFSET_OUT_OF_RANGE only if it lasts"""
        from headrace.errors import ErrorCode, KafkaError

        before = dict(self._consumer.positions)
        try:
            return self._consumer.poll()
        except KafkaError as failure:
            if failure.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            self._commit()
            self._resume(list(before), before)
            if self._consumer.positions == before:
                raise
        return []

    def _resume(self, names: list[TopicPartition], stored: dict[TopicPartition, int]) -> None:
        """Read from the committed offsets; without one, or out of the log's range, from `--from`, like `auto.offset.reset`."""
        from headrace.client.cluster import EARLIEST

        starts = self._cluster.offsets(dict.fromkeys(names, EARLIEST)) if names else {}
        begins, ends = _ranges(self._cluster, names, self._begin, self._follow, self._read_committed)
        lasts, _ = _ranges(self._cluster, names, Start(is_latest=True), self._follow, False)
        positions, self._done = {}, {}
        for name in names:
            offset = stored.get(name)
            if offset is not None and starts[name] <= offset <= lasts[name]:
                positions[name] = offset
                continue
            positions[name] = begins[name]
            if offset is not None:
                valid = f"valid offsets are {starts[name]} to {lasts[name]}"
                print_line(
                    f"headrace: offset {offset} of {name} is out of range, {valid}: continuing at {begins[name]}",
                    is_error=True,
                )
            if self._begin.is_latest:
                self._done[name] = begins[name]  # or the next run would begin elsewhere
        self._consumer.assign(positions, ends)

    def _commit(self) -> None:
        """Commit what was printed; if we are no longer a member, another one prints it again."""
        self._commit_at_s = time.monotonic() + COMMIT_EVERY_S
        if self._done and self._member.is_member:
            self._member.commit(self._done)
            self._done.clear()


def _check_group(group: str, chosen: list[int] | None, begin: Start, text: str) -> None:
    parse_group("--group", group)
    if chosen is not None:
        raise typer.BadParameter("--group and --partition can't be combined: the group assigns the partitions")
    if not begin.is_earliest and not begin.is_latest:
        raise bad(
            "--from",
            text,
            "can't be combined with --group: expected earliest or latest, used where the group has no committed offset",
        )


def _names(cluster: Cluster, topic: str, chosen: list[int] | None) -> list[TopicPartition]:
    from headrace.errors import ErrorCode, KafkaError

    names = sorted(name for name in cluster.partitions if name.topic == topic)
    if chosen is None:
        return names
    missing = sorted(set(chosen) - {name.partition for name in names})
    if missing:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{topic} has partitions 0 to {len(names) - 1}, no partition {missing[0]}",
        )
    return [name for name in names if name.partition in chosen]


def _ranges(
    cluster: Cluster, names: list[TopicPartition], begin: Start, follow: bool, read_committed: bool
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """(positions, ends): where to begin, and where partitions end now; no ends with --follow."""
    from headrace.client.cluster import EARLIEST, LATEST
    from headrace.client.consumer import check_range, start_offsets

    if not names:
        return {}, {}
    ends = cluster.offsets(dict.fromkeys(names, LATEST), read_committed)
    if begin.offset is not None:
        positions = dict.fromkeys(names, begin.offset)
        check_range(cluster, positions)
    elif begin.back is not None:
        starts = cluster.offsets(dict.fromkeys(names, EARLIEST))
        positions = {name: max(starts[name], ends[name] - begin.back) for name in names}
    elif begin.is_latest:
        positions = dict(ends)
    else:
        positions = start_offsets(cluster, dict.fromkeys(names, EARLIEST if begin.is_earliest else begin.time_ms or 0))
    return positions, {} if follow else ends


def _print_all(consumer: Consumer, output: Output, interrupt: Interrupt, discovery: PartitionDiscovery | None) -> None:
    while not (consumer.is_done or output.is_done or interrupt):
        output.write(consumer.poll())
        if discovery is not None:
            discovery.check()
