"""`headrace import-07 DIR TOPIC`: the logs of Kafka 0.7 into a topic.

The run, its state and the topic are in `migration/`; what is printed of it, in `import_07_report.py`.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster

BATCH_BYTES = 512 * 1024
EXAMPLES = """
[bold]Examples[/bold]

headrace import-07 /var/kafka-logs-07 clicks --bootstrap-servers kafka1:9092

headrace import-07 /mnt/old clicks --from page-views --compression zstd --skip-damaged

headrace import-07 /var/kafka-logs-07 clicks --consumers zk07:2181 --broker-id 3
"""


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Timestamp(StrEnum):
    IMPORT = "import"
    FILE = "file"
    NONE = "none"


def import_07(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Log directory of Kafka 0.7, with TOPIC-0, TOPIC-1, ...")
    ],
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic to import into; created if missing.")],
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
    source_topic: Annotated[
        str, typer.Option("--from", metavar="NAME", help="Name of the topic in DIR. Default: TOPIC.")
    ] = "",
    state_file: Annotated[
        Path | None,
        typer.Option("--state", metavar="FILE", help="File that records progress. Default: ./TOPIC.import-07.json"),
    ] = None,
    compression: Annotated[Compression, typer.Option(help="Compression of the batches written.")] = Compression.NONE,
    timestamp: Annotated[
        Timestamp,
        typer.Option(
            help="Timestamp of the records (0.7 stored none): time of the import, of the segment file, or none."
        ),
    ] = Timestamp.IMPORT,
    batch_bytes: Annotated[
        int, typer.Option(min=1, max=64 << 20, metavar="N", help="Batch size, in bytes before compression.")
    ] = BATCH_BYTES,
    is_damage_skipped: Annotated[
        bool, typer.Option("--skip-damaged", help="Print damaged messages and skip them. Default: stop at the first.")
    ] = False,
    is_read_back: Annotated[
        bool, typer.Option("--read-back/--no-read-back", help="Read the topic back at the end and compare checksums.")
    ] = True,
    consumers: Annotated[
        str,
        typer.Option(
            metavar="ZOOKEEPER",
            help="host:port\\[/chroot] of 0.7's ZooKeeper: carry over the offsets of its consumer groups.",
        ),
    ] = "",
    broker_id: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Id of the broker that DIR belongs to, if groups have offsets of several brokers."
        ),
    ] = None,
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Don't show progress.")] = False,
) -> int:
    """Import the logs of Kafka 0.7 into a topic.

    Partition N of the source goes into partition N of the topic, in order: payloads as values, without keys. After an interruption
    run the same command again: it resumes where it stopped, without duplicates or gaps. If the source has grown, it imports the rest.

    At the end it prints a line for each partition: messages, bytes, a checksum over them, and whether the topic reads back equal.

    With --consumers the offsets of consumer groups, which are bytes in 0.7, become committed offsets of the topic. A group that is as far
    or further already is left as it is; one with members is refused.

    Exit codes: 0 imported and equal, 1 stopped (the reason is on standard error) or not equal.
    """
    from headrace.cli.import_07_report import ImportReport
    from headrace.migration.import_07_run import ImportPlan, run

    plan = ImportPlan(
        directory=directory,
        source_topic=source_topic or topic,
        topic=topic,
        state_file=state_file or Path(f"{topic}.import-07.json"),
        compression=compression.value,
        timestamp=timestamp.value,
        batch_bytes=batch_bytes,
        is_damage_skipped=is_damage_skipped,
        is_read_back=is_read_back,
        consumers=consumers,
        broker_id=broker_id,
    )
    report = ImportReport(is_quiet)
    try:
        return int(not run(plan, open_cluster(bootstrap, command_config), report))
    finally:
        report.close()
