"""`headrace groups list|describe|lag|reset-offsets|delete`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.arguments import (
    Start,
    only_one,
    parse_group,
    parse_offset,
    parse_shift,
    parse_time,
    parse_topic_partitions,
    parse_word,
)
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.cli.topics import AsJson, print_descriptions, report

if TYPE_CHECKING:
    from headrace.cli.offset_reset import Reset
    from headrace.client.admin import Admin, Errors
    from headrace.client.cluster import Cluster
    from headrace.ids import TopicPartition

STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
STATES_WITHOUT_MEMBERS = ("Empty", "Dead")

app = typer.Typer(
    name="groups",
    help="List, describe, reset and delete consumer groups.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="[bold]Examples[/bold]\n\nheadrace groups list\n\nheadrace groups describe billing",
)

GroupNames = Annotated[list[str], typer.Argument(metavar="GROUP", help="Group names.", show_default=False)]


@app.command(
    name="list",
    epilog="[bold]Examples[/bold]\n\nheadrace groups list\n\nheadrace groups list --state Empty --json",
)
def list_(
    states: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help=f"Only groups in this state: {', '.join(STATES)}; repeatable."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """List groups with state, type (classic or consumer; from Kafka 3.8) and protocol."""
    from headrace.cli.table import print_table
    from headrace.client.admin import Admin

    wanted = [parse_word("--state", text, STATES) for text in states or []]
    with open_cluster(bootstrap, command_config) as cluster:
        groups = Admin(cluster).list_groups(wanted)
    if as_json:
        for group in groups:
            fields = {"group": group.group_id, "state": group.state, "type": group.group_type}
            print(json.dumps({**fields, "protocol_type": group.protocol_type}))
    else:
        print_table(
            ["GROUP", "STATE", "TYPE", "PROTOCOL"],
            [[group.group_id, group.state, group.group_type, group.protocol_type] for group in groups],
        )
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace groups describe billing\n\n"
    "headrace groups describe billing --json | jq '.partitions[].lag'"
)
def describe(
    names: GroupNames, as_json: AsJson = False, bootstrap: Bootstrap = "", command_config: CommandConfig = None
) -> int:
    """Show members, committed offsets and lag of groups."""
    from headrace.client.admin import Admin
    from headrace.errors import KafkaError

    wanted = _checked(names)
    errors: Errors = {}
    with open_cluster(bootstrap, command_config) as cluster:
        admin = Admin(cluster)

        def descriptions() -> Iterator[dict[str, Any]]:
            for name in wanted:
                try:
                    yield _described(cluster, admin, name)
                except KafkaError as failure:
                    errors[name] = failure

        print_descriptions(descriptions(), as_json, _print_description)
    return report(errors, "described")


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace groups lag headrace-dev/logs\n\n"
    "headrace groups lag /var/lib/headrace/logs billing --json | jq .seconds"
)
def lag(
    log_dir: Annotated[Path, typer.Argument(metavar="LOG_DIR", help="First of the node's log.dirs, on this host.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="GROUP", help="Only these groups. Default: all.")] = None,
    as_json: AsJson = False,
) -> int:
    """Show how far groups lag behind, in records and seconds, from a local node's shared memory; sends no request."""
    from headrace.cli.table import print_table
    from headrace.errors import ErrorCode, KafkaError
    from headrace.shm.observer import Observer

    with Observer(log_dir) as node:
        lags = sorted(row for row in node.lags(time.time_ns() // 1_000_000) if not names or row.group in names)
    shown = {row.group for row in lags}
    missing = [name for name in dict.fromkeys(names or []) if name not in shown]
    if as_json:
        for row in lags:
            print(json.dumps(row._asdict()))
    else:
        print_table(
            ["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "SECONDS"],
            [[*row[:-1], "?" if row.seconds is None else f"{row.seconds:.1f}"] for row in lags],
        )
    return report(
        {
            name: KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {name} has no committed offset on this node")
            for name in missing
        },
        "shown",
    )


@app.command(
    name="reset-offsets",
    epilog="[bold]Examples[/bold]\n\nheadrace groups reset-offsets billing --topic clicks --to-earliest\n\n"
    "headrace groups reset-offsets billing --topic clicks:0,2 --to-time 2026-11-21T00:00:00Z --execute\n\n"
    "headrace groups reset-offsets billing --all-topics --shift-by -100 --execute",
)
def reset_offsets(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Group name; the group must have no members.")],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", metavar="TOPIC[:LIST]", help="A topic, or some of its partitions: clicks:0,2; repeatable."
        ),
    ] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All partitions with a committed offset.")] = False,
    to_offset: Annotated[str | None, typer.Option("--to-offset", metavar="N", help="Set this offset.")] = None,
    to_time: Annotated[
        str | None,
        typer.Option(
            "--to-time",
            metavar="TIME",
            help="Set the offset of the first record at or after TIME: 2026-11-21T08:30:00Z, ms since 1970, -15m.",
        ),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="Set the log start offset.")] = False,
    to_latest: Annotated[
        bool, typer.Option("--to-latest", help="Set the log end offset, after the last record.")
    ] = False,
    shift_by: Annotated[
        str | None, typer.Option("--shift-by", metavar="N", help="Shift by N records (negative: backwards).")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Apply the change (default: dry run).")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Reset a group's committed offsets. Without --execute this is a dry run. The group must have no live members."""
    from headrace.cli.offset_reset import new_offsets, partitions_of, shiftable
    from headrace.client.admin import Admin
    from headrace.errors import ErrorCode, KafkaError

    [name] = _checked([group])
    if bool(topics) == all_topics:
        raise typer.BadParameter(
            "--topic and --all-topics can't be combined" if topics else "--topic or --all-topics is required"
        )
    scope = [parse_topic_partitions("--topic", text) for text in topics or []]
    reset = _reset_of(to_offset, to_time, to_earliest, to_latest, shift_by)
    with open_cluster(bootstrap, command_config) as cluster:
        admin = Admin(cluster)
        _refuse_live(admin, name)
        stored = admin.group_offsets(name)
        if all_topics and not stored:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {name} has no committed offsets")
        names = partitions_of(cluster, scope, stored)
        shifted = names if reset.target is not None else shiftable(names, scope, stored)
        for left_out in sorted(set(names) - set(shifted)):
            print_line(f"headrace: skipped {left_out}: no committed offset to shift", is_error=True)
        wanted = new_offsets(cluster, shifted, stored, reset)
        if execute and wanted:
            admin.alter_group_offsets(name, wanted)
    _print_reset(name, stored, wanted, execute, as_json)
    return 0


@app.command(epilog="[bold]Examples[/bold]\n\nheadrace groups delete billing\n\nheadrace groups delete old-1 old-2")
def delete(names: GroupNames, bootstrap: Bootstrap = "", command_config: CommandConfig = None) -> int:
    """Delete groups and their committed offsets. The groups must have no live members."""
    from headrace.client.admin import Admin

    wanted = _checked(names)
    with open_cluster(bootstrap, command_config) as cluster:
        errors = Admin(cluster).delete_groups(wanted)
    return report(errors, "deleted")


def _checked(names: list[str]) -> list[str]:
    return list(dict.fromkeys(parse_group("GROUP", name) for name in names))


def _reset_of(
    to_offset: str | None, to_time: str | None, to_earliest: bool, to_latest: bool, shift_by: str | None
) -> Reset:
    from headrace.cli.offset_reset import Reset

    options = {
        "--to-offset": to_offset,
        "--to-time": to_time,
        "--to-earliest": to_earliest,
        "--to-latest": to_latest,
        "--shift-by": shift_by,
    }
    option = only_one(dict(options))
    if to_offset is not None:
        return Reset(Start(offset=parse_offset(option, to_offset)))
    if to_time is not None:
        return Reset(Start(time_ms=parse_time(option, to_time, int(time.time() * 1000))))
    if shift_by is not None:
        return Reset(None, parse_shift(option, shift_by))
    return Reset(Start(is_earliest=to_earliest, is_latest=to_latest))


def _refuse_live(admin: Admin, name: str) -> None:
    from headrace.errors import ErrorCode, KafkaError

    group = admin.describe_group(name)
    if group.state not in STATES_WITHOUT_MEMBERS:
        members = ", ".join(f"{member.client_id} at {member.host}" for member in group.members)
        raise KafkaError(
            ErrorCode.NON_EMPTY_GROUP, f"group {name} is {group.state}: {members or 'members are joining'}"
        )


def _described(cluster: Cluster, admin: Admin, group_id: str) -> dict[str, Any]:
    from headrace.client.cluster import EARLIEST, LATEST
    from headrace.errors import ErrorCode, KafkaError

    group = admin.describe_group(group_id)
    stored = admin.group_offsets(group_id)
    if group.state == "Dead" and not stored:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id} does not exist")
    owners = {name: member for member in group.members for name in member.partitions}
    names = sorted({*stored, *owners})
    for topic in sorted({name.topic for name in names}):
        try:
            cluster.refresh([topic])
        except KafkaError:
            pass  # deleted, its offsets are still there
    led = [name for name in names if name in cluster.partitions and cluster.partitions[name].leader in cluster.brokers]
    ends = cluster.offsets(dict.fromkeys(led, LATEST)) if led else {}
    starts = cluster.offsets(dict.fromkeys(led, EARLIEST)) if led else {}
    rows = []
    for name in names:
        offset, end, owner = stored.get(name), ends.get(name), owners.get(name)
        rows.append(
            {
                "topic": name.topic,
                "partition": name.partition,
                "offset": offset,
                "end": end,
                "lag": _lag(offset, starts.get(name, 0), end),
                "member": owner.member_id if owner else None,
                "host": owner.host if owner else None,
            }
        )
    return {
        "group": group.group_id,
        "state": group.state,
        "protocol": group.protocol,
        "members": [
            {
                "member": member.member_id,
                "instance": member.instance_id,
                "client": member.client_id,
                "host": member.host,
            }
            for member in group.members
        ],
        "partitions": rows,
    }


def _lag(offset: int | None, start: int, end: int | None) -> int | None:
    """Records that a group has not read; of those below the log's start none is there to be read."""
    return None if offset is None or end is None else max(0, end - max(offset, start))


def _print_description(description: dict[str, Any]) -> None:
    from headrace.cli.table import print_table

    protocol = f"  assignor {description['protocol']}" if description["protocol"] else ""
    print_line(
        f"group {description['group']}  state {description['state']}  members {len(description['members'])}{protocol}"
    )
    keys = ("topic", "partition", "offset", "end", "lag", "member", "host")
    print_table([key.upper() for key in keys], [[row[key] for key in keys] for row in description["partitions"]])


def _print_reset(
    group: str, stored: dict[TopicPartition, int], wanted: dict[TopicPartition, int], is_done: bool, as_json: bool
) -> None:
    from headrace.cli.table import print_table

    if as_json:
        for name, offset in sorted(wanted.items()):
            fields = {"topic": name.topic, "partition": name.partition, "offset": stored.get(name), "new": offset}
            print(json.dumps({"group": group, **fields, "done": is_done}))
        return
    print_table(
        ["TOPIC", "PARTITION", "OFFSET", "NEW"],
        [[name.topic, name.partition, stored.get(name), offset] for name, offset in sorted(wanted.items())],
    )
    print_line(f"committed for group {group}" if is_done else "dry run: nothing was changed, apply with --execute")
