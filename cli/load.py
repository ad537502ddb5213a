"""`headrace load`, and `headrace load audit|compact|rewind|migrate`: topics into tables, each record exactly once.

`expire`, `delete` and `vacuum` are in `load_upkeep.py`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import load_upkeep
from headrace.cli.arguments import bad, parse_pairs, parse_start, parse_word
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.load_arguments import AskedCluster, To, open_to, parse_duration, print_json
from headrace.cli.printable import print_line
from headrace.cli.topics import AsJson

if TYPE_CHECKING:
    from headrace.load.audit_report import Audit

MODES = ("fail", "null", "dead")
BAD_TIMES = ("dead", "null", "nearest", "fail")
OUT_OF_RANGE = ("fail", "earliest", "skip")
RECREATED = ("refuse", "load")

EXAMPLES = (
    "[bold]Examples[/bold]\n\nheadrace load --topics clicks --to /data/clicks\n\n"
    "headrace load --topics 'clicks|views' --to /data/web --every 1m\n\n"
    "headrace load --topics clicks --to /data/pages --decode json --schema 'page string, ms long' --decode-mode dead\n\n"
    "headrace load --topics clicks --to iceberg:prod:web.clicks --every 1m\n\n"
    "headrace load audit --to /data/clicks"
)

app = typer.Typer(
    name="load",
    help="Load topics into a Parquet directory, an Iceberg table or a Delta table, each record exactly once.",
    rich_markup_mode="rich",
    epilog=EXAMPLES,
)

load_upkeep.add_to(app)

EXIT_LEFT = 3  # partitions that had no leader are left for the next load


@app.callback(invoke_without_command=True)
def load(
    context: typer.Context,
    topics: Annotated[
        str,
        typer.Option("--topics", metavar="PATTERN", help="Regular expression that must match the whole topic name."),
    ] = "",
    to: To = "",
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            metavar="TIME",
            help="Repeat with this period: 500ms, 30s, 1m. Default: once, up to the current end of the log.",
        ),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="POSITION",
            help="Start position for partitions not yet in the target: earliest, latest, an offset, @TIME. To load"
            " again: headrace load rewind.",
        ),
    ] = "earliest",
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAME,...", help="Columns to load, Kafka's and decoded ones. Default: all."),
    ] = None,
    headers: Annotated[bool, typer.Option("--headers", help="Load record headers too.")] = False,
    decode: Annotated[
        str | None,
        typer.Option(
            "--decode", metavar="FORMAT", help="Parse values: json, csv, text, avro, protobuf (needs PySpark)."
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="SCHEMA", help="Schema for --decode: 'page string, ms long'; for Avro, JSON."),
    ] = None,
    decode_options: Annotated[
        list[str] | None,
        typer.Option(
            "--decode-option",
            metavar="KEY=VALUE",
            help="Decoder option KEY=VALUE, as decode.value.KEY in Spark, such as registry.url; repeatable.",
        ),
    ] = None,
    decode_mode: Annotated[
        str,
        typer.Option("--decode-mode", metavar="MODE", help="What to do with undecodable records: fail, null, dead."),
    ] = "fail",
    bad_times: Annotated[
        str,
        typer.Option(
            "--bad-times",
            metavar="POLICY",
            help="What to do with timestamps out of the table's range, such as microseconds: dead, null, nearest, fail.",
        ),
    ] = "dead",
    read_committed: Annotated[
        bool, typer.Option("--read-committed", help="Leave out records of open and aborted transactions.")
    ] = False,
    out_of_range: Annotated[
        str,
        typer.Option(
            "--out-of-range",
            metavar="POLICY",
            help="What to do if records were deleted before they were loaded: fail, earliest, skip.",
        ),
    ] = "fail",
    recreated: Annotated[
        str,
        typer.Option(
            "--recreated", metavar="POLICY", help="What to do if a topic was deleted and re-created: refuse, load."
        ),
    ] = "refuse",
    group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="NAME", help="Group to commit the loaded offsets for, for lag tools. '': none."
        ),
    ] = None,
    compression: Annotated[
        str,
        typer.Option(
            "--compression", metavar="CODEC", help="Codec of the files: snappy, gzip, brotli, zstd, lz4, none."
        ),
    ] = "snappy",
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Number of task processes. Default: one per core.")
    ] = None,
    compact_every: Annotated[
        int | None,
        typer.Option(
            "--compact-every",
            metavar="N",
            help="Merge small files after N commits; 0: never. Default: 16 with --every.",
        ),
    ] = None,
    records_per_task: Annotated[
        int, typer.Option("--records-per-task", metavar="N", help="Largest number of records per task.", min=1)
    ] = 1_000_000,
    records_per_commit: Annotated[
        int,
        typer.Option(
            "--records-per-commit",
            metavar="N",
            help="Largest number of records per commit; a longer backlog takes several commits.",
            min=1,
        ),
    ] = 20_000_000,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="TIME", help="After each round, remove hours older than this, such as 90d."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each commit and round, and one at the end.")
    ] = False,
    health_file: Annotated[
        Path | None,
        typer.Option(
            "--health-file", metavar="PATH", help="Write the status to this JSON file after each commit and round."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Don't show progress.")] = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Load topics into a table, continuing after its last commit. SIGTERM stops after the commit in progress. Exit code 3: partitions
    without a leader are left for the next load."""
    if context.invoked_subcommand is not None:
        return 0
    for option, text in (("--topics", topics), ("--to", to)):
        if not text:
            raise typer.BadParameter("is required", param_hint=option)
    parse_word("--decode-mode", decode_mode, MODES)
    parse_word("--bad-times", bad_times, BAD_TIMES)
    parse_word("--out-of-range", out_of_range, OUT_OF_RANGE)
    parse_word("--recreated", recreated, RECREATED)
    arguments: dict[str, Any] = {
        "every_s": None if every is None else parse_duration("--every", every),
        "start": _start(start),
        "columns": columns,
        "with_headers": headers,
        "decode": _decoder(decode, schema, decode_options or []),
        "decode_mode": decode_mode,
        "bad_times": bad_times,
        "read_committed": read_committed,
        "out_of_range": out_of_range,
        "recreated": recreated,
        "group": group,
        "compression": compression,
        "workers": workers,
        "compact_every": compact_every,
        "records_per_task": records_per_task,
        "records_per_commit": records_per_commit,
        "keep": None if keep is None else parse_duration("--keep", keep),
        "health_file": health_file,
    }
    return _run(topics, to, _servers(bootstrap, command_config), arguments, quiet or as_json, as_json)


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace load audit --to /data/clicks\n\nheadrace load audit --to /data/clicks --deep --json"
)
def audit(
    to: To,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Read all files and compare their checksums; with -b, compare keys and values too."
        ),
    ] = False,
    as_json: AsJson = False,
    bootstrap: AskedCluster = "",
) -> int:
    """Compare the counts of the commits, by topic and hour, with files and offsets; with -b, compare rows with the log. Exit code 1:
    they differ."""
    from headrace.load import audit as audited

    found = audited(open_to(to), is_deep=deep, bootstrap_servers=bootstrap or None)
    if as_json:
        print_json({"event": "audit", "target": to, **_as_json(found)})
    else:
        _print(found)
    return 1 if found.faults else 0


@app.command(epilog="[bold]Examples[/bold]\n\nheadrace load compact --to /data/clicks")
def compact(
    to: To,
    small: Annotated[
        int, typer.Option("--smaller-than", metavar="MIB", help="Merge files below this size.", min=1)
    ] = 32,
    compression: Annotated[
        str,
        typer.Option(
            "--compression", metavar="CODEC", help="Codec of the files: snappy, gzip, brotli, zstd, lz4, none."
        ),
    ] = "snappy",
    as_json: AsJson = False,
) -> int:
    """Merge small files of each partition and hour in one commit. A load may run at the same time."""
    from headrace.load import compact as compacted
    from headrace.load import files

    target = open_to(to)
    before = len(files(target))
    snapshot = compacted(target, small_bytes=small << 20, compression=compression)
    after = len(files(target))
    if as_json:
        print_json(
            {"event": "compact", "target": to, "commit": snapshot.number, "files_before": before, "files": after}
        )
    else:
        print_line(f"{before} files before, {after} now")
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace load rewind --topics clicks --to /data/clicks --from @2026-11-21T00:00:00Z\n\n"
    "headrace load rewind --topics clicks --to /data/clicks --from earliest"
)
def rewind(
    topics: Annotated[
        str, typer.Option("--topics", metavar="PATTERN", help="Regular expression of topics, as for headrace load.")
    ],
    to: To,
    start: Annotated[
        str, typer.Option("--from", metavar="POSITION", help="Position to go back to: earliest, an offset, or @TIME.")
    ],
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Rewind a table to a position: remove later records and reset the offsets in one commit. The next load continues there."""
    from headrace.load import rewind as rewound

    found = rewound(topics, open_to(to), _start(start), bootstrap_servers=_servers(bootstrap, command_config))
    if as_json:
        at = [{"topic": name.topic, "partition": name.partition, "offset": found[name]} for name in sorted(found)]
        print_json({"event": "rewind", "target": to, "partitions": at})
        return 0
    for name, offset in sorted(found.items()):
        print_line(f"{name} is at {offset}")
    return 0


@app.command(epilog="[bold]Examples[/bold]\n\nheadrace load migrate --to delta:/data/clicks")
def migrate(to: To, as_json: AsJson = False) -> int:
    """Upgrade a table of an earlier version so that other programs may run DELETE, OPTIMIZE and VACUUM on it. Safe to repeat."""
    from headrace.load import migrate as migrated

    found = migrated(open_to(to))
    if as_json:
        print_json({"event": "migrate", "target": to, "paths": found.paths, "dead_letters": found.dead_letters})
    else:
        print_line(f"{found.paths} paths corrected, {found.dead_letters} files of dead letters moved")
    return 0


def _run(topics: str, to: str, servers: str, arguments: dict[str, Any], quiet: bool, as_json: bool = False) -> int:
    import pyarrow as pa

    from headrace.cli.interrupt import Interrupt
    from headrace.cli.progress import ProgressLine
    from headrace.errors import HeadraceError
    from headrace.load import load as loaded

    line = ProgressLine(quiet)
    if as_json:
        arguments = {**arguments, "listener": _print_event}
    with Interrupt() as interrupt:
        try:
            found = loaded(
                topics,
                open_to(to),
                bootstrap_servers=servers,
                is_stopped=lambda: bool(interrupt),
                progress=lambda now: line.show(now.text()),
                **arguments,
            )
        except pa.ArrowInvalid as failure:  # a ValueError, and no argument's: a file that can't be read, say
            raise HeadraceError(f"load to {to}: {failure}") from failure
        except ValueError as failure:
            raise typer.BadParameter(str(failure)) from None
        finally:
            line.clear()
        dead = f", {found.dead_letters:,} of them dead letters" if found.dead_letters else ""
        if not as_json:
            print_line(f"loaded {found.records:,} records{dead} in {found.commits} commits to {to}")
        if not found.has_topics:
            print_line(f"headrace: no topic matches {topics!r}", is_error=True)
        if found.left:
            print_line(
                f"headrace: {len(found.left)} partitions had no leader and are left for the next load", is_error=True
            )
        return interrupt.exit_code or (EXIT_LEFT if found.left else 0)


def _print_event(event: dict[str, Any]) -> None:
    if event["event"] != "progress":
        print_json(event)


def _servers(bootstrap: str, command_config: Any) -> str:
    with open_cluster(bootstrap, command_config) as cluster:
        return cluster.bootstrap_servers


def _start(text: str) -> str | int:
    found = parse_start("--from", text, int(time.time() * 1000))
    if found.back is not None:
        raise bad("--from", text, "is not a position here: expected earliest, latest, an offset or @TIME")
    if found.time_ms is not None:
        return f"@{found.time_ms}"
    return found.offset if found.offset is not None else text


def _decoder(form: str | None, schema: str | None, pairs: list[str]) -> Any:
    """A decoder of values, by the options of the Spark source."""
    if form is None:
        if schema is not None or pairs:
            raise typer.BadParameter(
                "needs --decode", param_hint="--schema" if schema is not None else "--decode-option"
            )
        return None
    from headrace.load.contents import decoder_of

    options = parse_pairs("--decode-option", pairs)
    if schema is not None:
        options["schema"] = schema
    try:
        return decoder_of(form, options)
    except (ValueError, ImportError) as failure:
        raise typer.BadParameter(str(failure), param_hint="--decode") from None


_HEADERS = {
    "records": "IN THE LOG",
    "rows": "IN THE TABLE",
    "dead_letters": "DEAD LETTERS",
    "deleted": "DELETED",
    "deleted_by_others": "DELETED BY OTHERS",
    "aborted": "ABORTED",
    "passed_over": "SKIPPED",
    "lost": "LOST",
    "extra_aborted": "ABORTED, LOADED",
    "extra_compacted": "COMPACTED AWAY",
    "extra_unknown": "NOT IN THE LOG",
}


def _as_json(found: Audit) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(found) | {"records": found.records, "verdict": found.verdict}


def _print(found: Audit) -> None:
    from headrace.cli.table import print_table

    print_table(
        ("TOPIC", "HOUR", "RECORDS", "DEAD LETTERS", "IN FILES"),
        [(one.topic, one.hour, one.records, one.dead_letters, one.in_files) for one in found.hours],
    )
    print_table(
        ("TOPIC", "PARTITION", "FROM", "NEXT OFFSET", "RECORDS", "DELETED", "GAPS"),
        [
            (
                one.topic,
                one.partition,
                one.start,
                one.end,
                one.records,
                one.deleted,
                ",".join(f"{a}..{b}" for a, b in one.gaps) or "-",
            )
            for one in found.partitions
        ],
    )
    if found.log:
        shown = [
            name for name in _HEADERS if name in ("records", "rows") or any(getattr(one, name) for one in found.log)
        ]
        print_table(
            ("TOPIC", "PARTITION", "FROM", "TO", *(_HEADERS[name] for name in shown)),
            [
                (one.topic, one.partition, one.start, one.end, *(getattr(one, name) for name in shown))
                for one in found.log
            ],
        )
    if found.orphans:
        print_line(
            f"{len(found.orphans)} files are not part of any commit: a load is writing them, or was killed; the next load removes leftovers"
        )
    for change in found.changes:
        print_line(str(change))
    for fault in found.faults:
        print_line(f"headrace: {fault}", is_error=True)
    print_line(f"{found.records:,} records in {found.commits} commits: {_verdict(found)}")
    for text in found.uncompared:
        print_line(f"not compared: {text}")


def _verdict(found: Audit) -> str:
    """As `Audit.verdict`; of a table of many partitions the tables above name them."""
    log = f"; the log of {len(found.log)} partitions" if found.log else ""
    compared = f"compared: {found.compared[0]}{log}"
    if found.faults:
        return f"FAULTS: {len(found.faults)}; {compared}"
    return f"{'other programs changed rows, the rest agrees' if found.changes else 'all agree'}; {compared}"
