"""`headrace consume TOPIC`: records to standard output, up to the end as it was at the start, or for ever."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.arguments import Start, bad, parse_group, parse_partitions, parse_start, parse_topic
from headrace.cli.client_options import Bootstrap, CommandConfig, open_kafka
from headrace.cli.printable import print_line
from headrace.cli.record_text import DEFAULT_FORMAT, Render, compile_format, render_json

if TYPE_CHECKING:
    from headrace.cli.interrupt import Interrupt
    from headrace.client.kafka import Kafka
    from headrace.client.kafka_consumer import KafkaConsumer
    from headrace.client.records import RawRecord
    from headrace.ids import TopicPartition

    RawConsumer = KafkaConsumer[bytes | None, bytes | None]

MESSAGES_MAX = 2**62
POLL_RECORDS = 500
POLL_S = 0.5
METADATA_EVERY_MS = 60_000  # for partitions that a topic gets while it is followed
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
            help="Consume as a member of this group from its committed offsets, and commit. Without offsets, start at --from.",
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

    parse_topic("TOPIC", topic)
    begin = parse_start("--from", start, int(time.time() * 1000))
    chosen = parse_partitions("--partition", partitions) if partitions else None
    if as_json and template is not None:
        raise typer.BadParameter("--json and --format can't be combined")
    render = render_json if as_json else compile_format("--format", template or DEFAULT_FORMAT, null.encode())
    if group is not None:
        _check_group(group, chosen, begin, start)
    isolation = "read_committed" if read_committed else "read_uncommitted"
    with Interrupt() as interrupt, open_kafka(bootstrap, command_config) as kafka:
        output = Output(render, max_messages)
        names = _names(kafka, topic, chosen)
        if group is None:
            reads_all = follow and chosen is None  # those too that the topic gets while it is followed
            with kafka.consumer(
                *([topic] if reads_all else []), partitions=None if reads_all else names, start="earliest", isolation_level=isolation,
                metadata_max_age_ms=METADATA_EVERY_MS,
            ) as consumer:  # fmt: skip
                _print_all(consumer, names, begin, follow, output, interrupt)
        else:
            with kafka.consumer(
                topic, group=group, start="latest" if begin.is_latest else "earliest", assignors=("range", "roundrobin"),
                isolation_level=isolation, metadata_max_age_ms=METADATA_EVERY_MS,
            ) as consumer:  # fmt: skip
                GroupReader(consumer, begin, follow).run(output, interrupt)
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

    @property
    def records_max(self) -> int:
        """Of the next `write`."""
        return POLL_RECORDS if self._left is None else min(POLL_RECORDS, self._left)

    def write(self, records: list[RawRecord]) -> None:
        """Print records, `records_max` at most, and flush."""
        render = self._render
        if self._left is not None:
            self._left -= len(records)
        self._file.write(b"".join([render(record.topic, record.partition, record) for record in records]))
        self._file.flush()


class GroupReader:
    """A member of a group: prints the records of its partitions. What was printed is committed, and nothing else."""

    def __init__(self, consumer: RawConsumer, begin: Start, follow: bool) -> None:
        self._consumer = consumer
        self._begin = begin
        self._follow = follow
        self._share: tuple[TopicPartition, ...] | None = None
        self._ends: dict[TopicPartition, int] = {}

    def run(self, output: Output, interrupt: Interrupt) -> None:
        """Run until the end, or a signal; leaving the consumer's block commits, and leaves the group."""
        consumer = self._consumer
        while not output.is_done and not interrupt:
            records = consumer.poll(POLL_S, output.records_max)
            if consumer.has_share and consumer.assignment != self._share:
                self._begin_share()
            if records:
                output.write(records)
            elif self._is_at_end():
                return

    def _is_at_end(self) -> bool:
        if self._follow or self._share is None:
            return False
        positions = self._consumer.positions
        return all(positions.get(name, -1) >= end for name, end in self._ends.items())

    def _begin_share(self) -> None:
        """Say which committed offsets the log does not have; commit where we begin at the end, or the next run would begin elsewhere."""
        from headrace.client.engine.offsets import EARLIEST, LATEST

        consumer = self._consumer
        share = self._share = consumer.assignment
        starts, lasts = consumer.offsets(EARLIEST, share), consumer.offsets(LATEST, share)
        self._ends = lasts
        committed = consumer.committed(share)
        for name, at in committed.items():
            if not starts[name] <= at.offset <= lasts[name]:
                where = lasts[name] if self._begin.is_latest else starts[name]
                valid = f"valid offsets are {starts[name]} to {lasts[name]}"
                text = f"headrace: offset {at.offset} of {name} is out of range, {valid}: continuing at {where}"
                print_line(text, is_error=True)
        if self._begin.is_latest:
            fresh = [name for name in share if name not in committed]
            if fresh:
                consumer.commit({name: consumer.position(*name) for name in fresh})


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


def _names(kafka: Kafka, topic: str, chosen: list[int] | None) -> list[TopicPartition]:
    from headrace.errors import ErrorCode, KafkaError
    from headrace.ids import TopicPartition

    with kafka.admin() as admin:
        count = admin.partitions(topic)
    missing = sorted(set(chosen or ()) - set(range(count)))
    if missing:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{topic} has partitions 0 to {count - 1}, no partition {missing[0]}",
        )
    return [TopicPartition(topic, index) for index in (range(count) if chosen is None else sorted(chosen))]


def _starts(
    consumer: RawConsumer, names: list[TopicPartition], ends: dict[TopicPartition, int], begin: Start
) -> dict[TopicPartition, int]:
    """Where to begin. raises KafkaError, for an offset that a partition does not have"""
    from headrace.client.engine.offsets import EARLIEST
    from headrace.errors import ErrorCode, KafkaError

    if begin.is_latest:
        return dict(ends)
    if begin.time_ms is not None:
        found = consumer.offsets(begin.time_ms, names)
        return {name: ends[name] if offset < 0 else offset for name, offset in found.items()}
    firsts = consumer.offsets(EARLIEST, names)
    if begin.back is not None:
        return {name: max(firsts[name], ends[name] - begin.back) for name in names}
    if begin.offset is None:
        return firsts
    for name in names:
        if not firsts[name] <= begin.offset <= ends[name]:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {begin.offset} of {name} is out of range: valid offsets are {firsts[name]} to {ends[name]}",
            )
    return dict.fromkeys(names, begin.offset)


def _print_all(
    consumer: RawConsumer, names: list[TopicPartition], begin: Start, follow: bool, output: Output, interrupt: Interrupt
) -> None:
    """Partitions up to their ends of now, or for ever."""
    from headrace.client.engine.offsets import LATEST

    ends = consumer.offsets(LATEST, names)
    starts = _starts(consumer, names, ends, begin)
    consumer.start_at(starts)
    left = set() if follow else {name for name in names if starts[name] < ends[name]}
    while not output.is_done and not interrupt and (follow or left):
        records = consumer.poll(POLL_S, output.records_max)
        positions = consumer.positions
        if records:
            name = records[0].topic_partition
            positions[name] = records[-1].offset + 1
            output.write(records if follow else [record for record in records if record.offset < ends[name]])
        left = {name for name in left if positions.get(name, 0) < ends[name]}
