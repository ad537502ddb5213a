"""`headrace load expire|delete|vacuum`: what goes from a table, and from the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.load_arguments import AskedCluster, To, open_to, parse_duration, print_json
from headrace.cli.printable import print_line
from headrace.cli.progress import bytes_text
from headrace.cli.topics import AsJson
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.load.deleting import Deleted
    from headrace.load.expiring import Expired
    from headrace.load.row_removal import Removal

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be removed; change nothing.")]


def add_to(app: typer.Typer) -> None:
    """Have the commands in the application."""
    examples = "[bold]Examples[/bold]\n\n"
    app.command(
        epilog=f"{examples}headrace load expire --older-than 90d --to /data/clicks --dry-run\n\n"
        "headrace load expire --older-than 90d --to delta:/data/clicks"
    )(expire)
    app.command(
        epilog=f"{examples}headrace load delete --where \"key = 'user-5'\" --to /data/clicks --dry-run\n\n"
        "headrace load delete --where \"page like '/private/%'\" --to delta:/data/pages"
    )(delete)
    app.command(
        epilog=f"{examples}headrace load vacuum --to delta:/data/clicks\n\n"
        "headrace load vacuum --older-than 30d --to iceberg:prod:web.clicks"
    )(vacuum)


def expire(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than", metavar="TIME", help="Age, counted from the end of an hour: 90d, 36h.", show_default=False
        ),
    ],
    to: To,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Drop whole hours that ended long ago, in one commit. Offsets stay: a load continues, and nothing of them comes back."""
    from headrace.load import expire as expired

    found = expired(open_to(to), parse_duration("--older-than", older_than), dry_run=dry_run)
    if as_json:
        print_json(_expired_json(to, found))
        return 0
    _print_expired(found)
    return 0


def delete(
    where: Annotated[
        str,
        typer.Option(
            "--where",
            metavar="SQL",
            help="SQL condition over the table's columns (DuckDB syntax).",
            show_default=False,
        ),
    ],
    to: To,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    bootstrap: AskedCluster = "",
) -> int:
    """Delete the rows for which a condition is true, in one commit. With -b, say which of the records the log still has."""
    import pyarrow as pa

    from headrace.load import delete as deleted

    try:
        found = deleted(open_to(to), where, dry_run=dry_run, bootstrap_servers=bootstrap or None)
    except pa.ArrowInvalid as failure:  # a ValueError, and no argument's: a file that can't be read, say
        raise HeadraceError(f"delete from {to}: {failure}") from failure
    except (ValueError, ImportError) as failure:
        raise typer.BadParameter(str(failure), param_hint="--where") from None
    if as_json:
        print_json(_deleted_json(to, found))
        return 0
    _print_deleted(found, has_asked=bool(bootstrap))
    return 0


def vacuum(
    to: To,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="Remove versions that ended longer ago than this.")
    ] = "7d",
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Allow less than 7d (a directory: 1h), although readers and RESTORE may lose files."
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Give up earlier versions of a table, and remove the files that they alone have: the bytes of deleted rows among them."""
    from headrace.load import vacuum as vacuumed

    try:
        found = vacuumed(open_to(to), parse_duration("--older-than", older_than), force=force, dry_run=dry_run)
    except ValueError as failure:
        raise typer.BadParameter(
            str(failure).replace("; force allows", "; --force allows"), param_hint="--older-than"
        ) from None
    if as_json:
        print_json(
            {
                "event": "vacuum",
                "target": to,
                "dry_run": dry_run,
                "files": found.files,
                "bytes": found.bytes,
                "versions": found.versions,
            }
        )
        return 0
    versions = f", {found.versions} snapshots removed" if found.versions else ""
    print_line(
        f"{found.files} files {'would be removed' if dry_run else 'removed'}, {bytes_text(found.bytes)}{versions}"
    )
    return 0


def _removal_json(event: str, to: str, dry_run: bool, removal: Removal) -> dict[str, Any]:
    return {
        "event": event,
        "target": to,
        "dry_run": dry_run,
        "commit": removal.commit or None,
        "records": removal.rows + removal.dead_letters,
        "dead_letters": removal.dead_letters,
        "files": removal.files,
        "bytes": removal.bytes,
    }


def _expired_json(to: str, found: Expired) -> dict[str, Any]:
    import dataclasses

    hours = [dataclasses.asdict(one) for one in found.hours]
    return {**_removal_json("expire", to, found.is_dry_run, found.removal), "before": found.before, "hours": hours}


def _deleted_json(to: str, found: Deleted) -> dict[str, Any]:
    import dataclasses

    partitions = [dataclasses.asdict(one) for one in found.partitions]
    return {
        **_removal_json("delete", to, found.is_dry_run, found.removal),
        "where": found.where,
        "partitions": partitions,
        "asked_dead_letters": found.reads_dead_letters,
    }


def _print_expired(found: Expired) -> None:
    from headrace.cli.table import print_table

    print_table(
        ("TOPIC", "HOUR", "ROWS", "DEAD LETTERS", "FILES", "BYTES"),
        [
            (one.topic or "-", one.hour or "-", one.rows - one.dead_letters, one.dead_letters, one.files, one.bytes)
            for one in found.hours
        ],
    )
    print_line(f"hours before {found.before} UTC: {_removal_text(found.removal, found.is_dry_run)}")


def _print_deleted(found: Deleted, has_asked: bool) -> None:
    removal = found.removal
    print_line(_removal_text(removal, found.is_dry_run))
    if not found.reads_dead_letters:
        print_line("dead letters not checked: they lack columns that the condition uses")
    if not removal.rows and not removal.dead_letters:
        return
    for one in found.partitions:
        if one.in_log is not None:
            print_line(
                f"{one.topic}-{one.partition}: the log still has up to {one.in_log} of {one.rows + one.dead_letters} records"
            )
    if not has_asked:
        print_line("the log was not checked (-b HOST:PORT): it may still have these records")
    print_line("headrace load rewind would load records that the log still has: delete them from the topic too")
    print_line("earlier versions of the table keep the data until headrace load vacuum")


def _removal_text(removal: Removal, is_dry_run: bool) -> str:
    dead = f" and {removal.dead_letters:,} dead letters" if removal.dead_letters else ""
    if is_dry_run:
        return (
            f"{removal.rows:,} rows{dead} would be deleted from {removal.files} files with {bytes_text(removal.bytes)}"
        )
    return f"{removal.rows:,} rows{dead} deleted from {removal.files} files; {bytes_text(max(0, removal.bytes))} freed"
