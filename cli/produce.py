"""`headrace produce TOPIC [FILE]...`: each line becomes a record."""

from __future__ import annotations

import os
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.arguments import bad, parse_pair_list, parse_partitions, parse_topic
from headrace.cli.client_options import Bootstrap, CommandConfig, open_kafka
from headrace.cli.printable import print_line
from headrace.limits import PRODUCE_TIMEOUT_S_MAX

if TYPE_CHECKING:
    from headrace.cli.line_source import Line
    from headrace.client.kafka_producer import KafkaProducer

PROGRESS_EVERY_S = 0.5
LINGER_MS = 5
EXAMPLES = """
[bold]Examples[/bold]

echo hello | headrace produce greetings

headrace produce clicks access.log --codec zstd

headrace produce prices --key-separator : --header source=shop1 < prices.txt
"""


class CodecName(StrEnum):
    """Kafka's names of codecs."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    """Who must have a record before it counts as delivered."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic to write to; it must exist.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Files to read lines from. Default, or -: standard input."),
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(
            "--key-separator",
            "-K",
            metavar="TEXT",
            help="Separator between key and value in each line. Default: lines have no key.",
        ),
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="Header to add to every record; repeatable."),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            "-p",
            metavar="N",
            help="Partition for all records. Default: by hash of the key; records without a key fill one partition at a time.",
        ),
    ] = None,
    codec: Annotated[
        CodecName, typer.Option("--codec", "-z", help="Compression codec of the batches.")
    ] = CodecName.NONE,
    acks: Annotated[
        Acks,
        typer.Option(
            help="Acknowledgement to wait for. 0: none; 1: leader; all: all in-sync replicas, with an idempotent producer."
        ),
    ] = Acks.ALL,
    empty_is_null: Annotated[
        bool,
        typer.Option("--empty-is-null", help="Write empty keys and values as null (a tombstone in compacted topics)."),
    ] = False,
    timeout_s: Annotated[
        int,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=1,
            max=PRODUCE_TIMEOUT_S_MAX,
            help="Delivery timeout of a record, in seconds.",
        ),
    ] = 120,
    progress: Annotated[
        bool | None,
        typer.Option("--progress/--no-progress", help="Show progress on standard error. Default: only on a terminal."),
    ] = None,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Write each line as a record, and return when all are acknowledged.

    Ctrl-C stops reading; lines already read are still delivered. Exit code 1: a record was not delivered, or a line is invalid.
    """
    from headrace.cli.interrupt import Interrupt
    from headrace.cli.line_source import STANDARD_INPUT, read_lines
    from headrace.cli.sent_records import RecordRefused, SentRecords
    from headrace.errors import ErrorCode, HeadraceError, KafkaError

    parse_topic("TOPIC", topic)
    for file in files or []:
        if str(file) != "-" and not os.access(file, os.R_OK):
            raise bad("FILE", str(file), "is not readable")
    target = _partition(partition)
    header_list = [(name, value.encode()) for name, value in parse_pair_list("--header", headers or [])]
    if key_separator == "":
        raise bad("--key-separator", "", "is empty: omit the option for records without keys")
    separator = (key_separator or "").encode()
    places = Places()
    meter = Meter(
        sys.stderr.isatty() if progress is None else progress, "sent" if acks is Acks.NONE else "acknowledged"
    )
    with Interrupt() as interrupt, open_kafka(bootstrap, command_config) as kafka:
        producer = kafka.producer(
            acks=acks.value if acks is Acks.ALL else int(acks.value), compression=codec.value, linger_ms=LINGER_MS,
            request_timeout_ms=min(30_000, timeout_s * 1000), delivery_timeout_ms=timeout_s * 1000, max_block_ms=timeout_s * 1000,
        )  # fmt: skip
        producer.partitions(topic)  # a topic that is not there should say so before a line was read
        sent = SentRecords(producer)
        try:
            for line in read_lines(list(files or [STANDARD_INPUT]), interrupt.fd, LINGER_MS):
                if line is None:
                    producer.poll()
                else:
                    key, value = _split(line, separator, empty_is_null)
                    places.note(line)
                    try:
                        sent.add(producer.send(topic, value, key, headers=header_list, partition=target))
                    except KafkaError as failure:
                        if failure.code is not ErrorCode.MESSAGE_TOO_LARGE:
                            raise
                        raise KafkaError(failure.code, f"{line.place}: {failure.message}") from None
                sent.check()
                meter.show(producer)
            sent.finish()
        except RecordRefused as failure:
            if failure.record is not None:
                print_line(f"headrace: {places.of(failure.record)} was not delivered", is_error=True)
            raise
        except HeadraceError:
            sent.finish()  # what was read before is delivered all the same
            raise
        meter.show(producer, is_last=True)
        return interrupt.exit_code


class Places:
    """Which line became which record: the first record of each source is remembered, no line."""

    def __init__(self) -> None:
        self._sources: list[tuple[int, str]] = []  # (number of its first record, its name)
        self._records = 0

    def note(self, line: Line) -> None:
        """This line is the next record."""
        if line.number == 1:
            self._sources.append((self._records, line.source))
        self._records += 1

    def of(self, record: int) -> str:
        """The line of a record, numbered from 0 in the order of `note`."""
        first, source = max(place for place in self._sources if place[0] <= record)
        return f"{source}, line {record - first + 1}"


class Meter:
    """Progress of delivery on standard error, rewritten in place on a terminal."""

    def __init__(self, is_shown: bool, done: str = "acknowledged") -> None:
        self._is_shown = is_shown
        self._done = done
        self._start_s = time.monotonic()
        self._next_s = self._start_s + PROGRESS_EVERY_S

    def show(self, producer: KafkaProducer[bytes | None, bytes | None], is_last: bool = False) -> None:
        if not self._is_shown:
            return
        now_s = time.monotonic()
        if now_s < self._next_s and not is_last:
            return
        self._next_s = now_s + PROGRESS_EVERY_S
        seconds = max(now_s - self._start_s, 1e-3)
        text = f"{producer.acknowledged} records {self._done}, {producer.acknowledged / seconds:,.0f}/s"
        text += f", {producer.acknowledged_bytes / seconds / 1e6:.1f} MB/s"
        if sys.stderr.isatty():
            text = f"\r{text}\x1b[K"
        print(text, end="\n" if is_last or not sys.stderr.isatty() else "", file=sys.stderr, flush=True)


def _partition(text: str | None) -> int | None:
    if text is None:
        return None
    partitions = parse_partitions("--partition", [text])
    if len(partitions) != 1:
        raise bad("--partition", text, "is more than one partition: expected one number")
    return partitions[0]


def _split(line: Line, separator: bytes, empty_is_null: bool) -> tuple[bytes | None, bytes | None]:
    """Key and value of a line."""
    from headrace.cli.line_source import BadLine

    key: bytes | None = None
    value: bytes | None = line.content
    if separator:
        key, found, value = line.content.partition(separator)
        if not found:
            raise BadLine(f"{line.place}: key separator {separator.decode()!r} not found")
    if empty_is_null:
        key, value = key or None, value or None
    return key, value
