"""`headrace import-07 DIR TOPIC`: the logs of Kafka 0.7 into a topic.

The reader is `log/kafka07/log_07.py`; the run, its state and the topic are in `import_07_run.py` and its neighbours.
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
        Path, typer.Argument(metavar="DIR", help="A log directory of Kafka 0.7, with TOPIC-0, TOPIC-1, ...")
    ],
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="The topic to carry them into; created if it is missing.")
    ],
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
    source_topic: Annotated[
        str, typer.Option("--from", metavar="NAME", help="The topic's name in DIR, if it is another one.")
    ] = "",
    state_file: Annotated[
        Path | None, typer.Option("--state", metavar="FILE", help="How far it is. Default: ./TOPIC.import-07.json")
    ] = None,
    compression: Annotated[Compression, typer.Option(help="Of the batches that are written.")] = Compression.NONE,
    timestamp: Annotated[
        Timestamp, typer.Option(help="0.7 knows no time: that of the import, of the segment's file, or none.")
    ] = Timestamp.IMPORT,
    batch_bytes: Annotated[int, typer.Option(min=1, max=64 << 20, metavar="N", help="Size of a batch.")] = BATCH_BYTES,
    is_damage_skipped: Annotated[
        bool, typer.Option("--skip-damaged", help="Name damaged messages and go on. Without it the import stops there.")
    ] = False,
    is_read_back: Annotated[
        bool, typer.Option("--read-back/--no-read-back", help="Read the topic at the end and compare checksums.")
    ] = True,
    is_quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> int:
    """Carry the logs of Kafka 0.7 into a topic.

    Partition N of the source goes into partition N of the topic, in order: payloads as values, no keys. Run the same command again
    after a break: it goes on where it was, and nothing comes twice, nor is left out. When the source has grown, it carries the rest.

    At the end there is a line for each partition: messages, bytes, a checksum over them, and whether the topic reads back equal.

    Exit codes: 0 carried and equal, 1 stopped (the reason is on standard error) or not equal.
    """
    from headrace.cli.import_07_run import ImportPlan, run

    return run(
        ImportPlan(
            directory=directory,
            source_topic=source_topic or topic,
            topic=topic,
            state_file=state_file or Path(f"{topic}.import-07.json"),
            compression=compression.value,
            timestamp=timestamp.value,
            batch_bytes=batch_bytes,
            is_damage_skipped=is_damage_skipped,
            is_read_back=is_read_back,
            is_quiet=is_quiet,
        ),
        open_cluster(bootstrap, command_config),
    )
