"""`headrace cluster rebalance`, `reassignments` and `elect-leaders`: replicas that move, and leaders.

They are commands of the group in `cluster.py`. What moves is shown first; with --execute it is begun by AlterPartitionReassignments and
watched until it is done. Ctrl-C ends the watching, not the moves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.arguments import parse_topic_partitions, parse_word
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.cli.topics import AsJson

if TYPE_CHECKING:
    from headrace.client.admin import Reassignment, ReplicaAdmin, ReplicaErrors
    from headrace.client.balance import Move
    from headrace.client.cluster import Cluster
    from headrace.ids import TopicPartition

POLL_S = 0.5
REQUEST_PARTITIONS = 500  # of one request

EXAMPLES_REBALANCE = (
    "[bold]Examples[/bold]\n\nheadrace cluster rebalance   # show the plan\n\n"
    "headrace cluster rebalance --execute\n\n"
    "headrace cluster rebalance --drain 3 --execute   # move everything off broker 3\n\n"
    "headrace cluster rebalance --topic clicks --json\n\n"
    "headrace cluster rebalance --cancel   # cancel all reassignments in progress"
)
EXAMPLES_REASSIGNMENTS = (
    "[bold]Examples[/bold]\n\nheadrace cluster reassignments\n\nheadrace cluster reassignments --json | jq .adding"
)
EXAMPLES_ELECT = (
    "[bold]Examples[/bold]\n\nheadrace cluster elect-leaders --all   # preferred replicas lead again\n\n"
    "headrace cluster elect-leaders --topic clicks:0,2\n\n"
    "headrace cluster elect-leaders --type unclean --topic clicks:0   # may lose records"
)

Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        "-t",
        metavar="TOPIC[:PARTITIONS]",
        help="Only these partitions, as clicks or clicks:0,2-3; repeatable.",
    ),
]


def rebalance(
    topics: Topics = None,
    drain: Annotated[
        list[int] | None,
        typer.Option("--drain", metavar="BROKER", help="Leave no replica on this broker; repeatable.", min=0),
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Move the replicas (default: show the plan).")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel all reassignments in progress.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Even out replicas and leaders over the live brokers, with as few moves as it takes. Shows the plan; --execute runs and watches it.

    Brokers' racks are kept apart as they were. Partitions that are being moved already are left alone.
    """
    from headrace.client.admin import ReplicaAdmin
    from headrace.client.balance import plan_moves

    if cancel and (topics or drain or execute):
        raise typer.BadParameter("--cancel can't be combined with --topic, --drain or --execute")
    with open_cluster(bootstrap, command_config) as cluster:
        admin = ReplicaAdmin(cluster)
        if cancel:
            return _cancel(admin)
        cluster.refresh(None)
        wanted = _parse(topics)
        moving = admin.reassignments()
        partitions = {
            name: _target(moving[name]) if name in moving else row.replicas for name, row in cluster.partitions.items()
        }
        racks = {node: broker.rack for node, broker in cluster.brokers.items() if node not in (drain or ())}
        if not racks:
            raise typer.BadParameter("no broker would be left", param_hint="--drain")
        fixed = {name for name in partitions if name in moving or not _is_wanted(name, wanted)}
        moves = plan_moves(partitions, racks, _sizes(admin, cluster), fixed)
        _print_plan(moves, partitions, cluster.brokers, as_json)
        if not moves:
            return 0
        if not execute:
            if not as_json:
                print_line("dry run: nothing was changed, apply with --execute")
            return 0
        return _run(admin, cluster, moves)


def reassignments(as_json: AsJson = False, bootstrap: Bootstrap = "", command_config: CommandConfig = None) -> int:
    """List partitions whose replicas are being moved."""
    from headrace.cli.table import print_table
    from headrace.client.admin import ReplicaAdmin

    with open_cluster(bootstrap, command_config) as cluster:
        found = ReplicaAdmin(cluster).reassignments()
        cluster.refresh(sorted({name.topic for name in found}))
        rows: list[dict[str, Any]] = [
            {
                "topic": name.topic,
                "partition": name.partition,
                "replicas": list(row.replicas),
                "adding": list(row.adding),
                "removing": list(row.removing),
                "isr": list(cluster.partitions[name].isr) if name in cluster.partitions else [],
            }
            for name, row in sorted(found.items())
        ]
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return 0
    lists = ("replicas", "adding", "removing", "isr")
    print_table(
        ["TOPIC", "PARTITION", "REPLICAS", "ADDING", "REMOVING", "ISR"],
        [[row["topic"], row["partition"], *(_ids(row[key]) for key in lists)] for row in rows],
    )
    return 0


def elect_leaders(
    topics: Topics = None,
    every: Annotated[bool, typer.Option("--all", help="Elect leaders of all partitions that need it.")] = False,
    kind: Annotated[
        str,
        typer.Option("--type", help="preferred: the first replica; unclean: any live replica, if there is no leader."),
    ] = "preferred",
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Elect leaders: the preferred replicas, or, with --type unclean, one that is not in sync: records may be lost."""
    from headrace.client.admin import PREFERRED, UNCLEAN, ReplicaAdmin

    word = parse_word("--type", kind, ("preferred", "unclean"))
    if bool(topics) == every:
        raise typer.BadParameter("one of --topic and --all is required")
    with open_cluster(bootstrap, command_config) as cluster:
        names = None
        if topics:
            wanted = _parse(topics)
            cluster.refresh(sorted(wanted))
            names = sorted(name for name in cluster.partitions if _is_wanted(name, wanted))
        errors = ReplicaAdmin(cluster).elect(names, UNCLEAN if word == "unclean" else PREFERRED)
        cluster.refresh(sorted({name.topic for name in errors}))
        return _report(errors, lambda name: f"led by {cluster.partitions[name].leader}: {name}")


# Rebalancing


def _run(admin: ReplicaAdmin, cluster: Cluster, moves: Sequence[Move]) -> int:
    """Begin, watch, and have the new first replicas lead."""
    errors: ReplicaErrors = {}
    for first in range(0, len(moves), REQUEST_PARTITIONS):
        errors.update(admin.reassign({move.name: move.after for move in moves[first : first + REQUEST_PARTITIONS]}))
    begun = {name for name, error in errors.items() if error is None}
    exit_code = _report({name: error for name, error in errors.items() if error is not None}, str)
    _watch(admin, begun)
    _report(admin.elect(sorted(begun)), None)
    print_line(f"moved {len(begun)} partitions")
    return exit_code


def _watch(admin: ReplicaAdmin, names: Collection[TopicPartition]) -> None:
    """Until none of these is in progress any more."""
    from headrace.cli.progress import ProgressLine

    progress = ProgressLine()
    left = len(names)
    while left:
        moving = admin.reassignments()
        left = sum(name in moving for name in names)
        progress.show(f"moved {len(names) - left} of {len(names)} partitions")
        if left:
            time.sleep(POLL_S)
    progress.clear()


def _cancel(admin: ReplicaAdmin) -> int:
    moving = admin.reassignments()
    return _report(admin.reassign(dict.fromkeys(moving)) if moving else {}, lambda name: f"cancelled {name}")


def _sizes(admin: ReplicaAdmin, cluster: Cluster) -> dict[TopicPartition, int]:
    """Of each partition's leader, as far as it is known."""
    sizes = admin.sizes()
    return {name: sizes[row.leader, name] for name, row in cluster.partitions.items() if (row.leader, name) in sizes}


def _target(moving: Reassignment) -> tuple[int, ...]:
    return tuple(broker for broker in moving.replicas if broker not in moving.removing)


def _print_plan(
    moves: Sequence[Move],
    partitions: Mapping[TopicPartition, tuple[int, ...]],
    brokers: Iterable[int],
    as_json: bool,
) -> None:
    from headrace.cli.progress import bytes_text
    from headrace.cli.table import print_table

    if as_json:
        for move in moves:
            print(
                json.dumps(
                    {
                        "topic": move.name.topic,
                        "partition": move.name.partition,
                        "before": list(move.before),
                        "after": list(move.after),
                        "adding": list(move.added),
                        "removing": list(move.removed),
                        "bytes": move.size_bytes,
                    }
                )
            )
        return
    if not moves:
        print_line("already balanced")
        return
    print_table(
        ["TOPIC", "PARTITION", "BEFORE", "AFTER", "BYTES"],
        [
            [move.name.topic, move.name.partition, _ids(move.before), _ids(move.after), move.size_bytes]
            for move in moves
        ],
    )
    after = {**partitions, **{move.name: move.after for move in moves}}
    print()
    print_table(
        ["BROKER", "REPLICAS", "AFTER", "LEADERS", "AFTER"],
        [
            [broker, *(count(rows, broker) for count in (_held, _led) for rows in (partitions, after))]
            for broker in sorted({*brokers, *(one for row in partitions.values() for one in row)})
        ],
    )
    copied = sum(len(move.added) for move in moves)
    known = sum(move.size_bytes or 0 for move in moves)
    unknown = sum(move.size_bytes is None for move in moves)
    more = f" and {unknown} partitions of unknown size" if unknown else ""
    print()
    print_line(f"{len(moves)} partitions change, {copied} replicas are copied: {bytes_text(known)}{more}")


def _held(rows: Mapping[TopicPartition, tuple[int, ...]], broker: int) -> int:
    return sum(broker in row for row in rows.values())


def _led(rows: Mapping[TopicPartition, tuple[int, ...]], broker: int) -> int:
    return sum(row[:1] == (broker,) for row in rows.values())


# What all have in common


def _parse(topics: Iterable[str] | None) -> dict[str, list[int] | None]:
    """By topic its partitions, None: all."""
    return dict(parse_topic_partitions("--topic", text) for text in topics or ())


def _is_wanted(name: TopicPartition, wanted: Mapping[str, list[int] | None]) -> bool:
    if not wanted:
        return True
    if name.topic not in wanted:
        return False
    indexes = wanted[name.topic]
    return indexes is None or name.partition in indexes


def _report(errors: ReplicaErrors, said: Any) -> int:
    """Print the outcome of each partition, and what failed on standard error; the exit code.

    said   what is printed of one that succeeded; None: nothing
    """
    from headrace.cli.advice import advice_for

    exit_code = 0
    for name, error in sorted(errors.items()):
        if error is None:
            if said is not None:
                print_line(said(name))
            continue
        print_line(f"headrace: {error}", is_error=True)
        if advice := advice_for(error):
            print_line(f"  {advice}", is_error=True)
        exit_code = 1
    return exit_code


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))
