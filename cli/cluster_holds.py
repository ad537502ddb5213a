"""`headrace cluster accept-loss`, and the held partitions of `headrace cluster describe` (docs/decisions/013).

They are in ZooKeeper, whose address a broker reports (zookeeper.connect), unless it is given: where that is one which only the brokers
can reach, --zookeeper has another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.arguments import bad
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.ids import NO_LEADER

if TYPE_CHECKING:
    from headrace.client.cluster import Cluster
    from headrace.node.held_replicas import Held

EXAMPLES_ACCEPT = (
    "[bold]Examples[/bold]\n\nheadrace cluster describe --held   # which partitions, and what they wait for\n\n"
    "headrace cluster accept-loss clicks:3\n\nheadrace cluster accept-loss clicks:3 --keep 2   # keep the log of broker 2"
)
EXAMPLES_RESTORED = (
    "[bold]Examples[/bold]\n\nheadrace cluster restored zk1:2181,zk2:2181/kafka   # while all nodes are stopped"
)
ZOOKEEPER_KEY = "zookeeper.connect"

ZooKeeper = Annotated[
    str,
    typer.Option(
        "--zookeeper", metavar="HOST:PORT,...", help="Default: ask a broker.", show_default=False,
    ),
]  # fmt: skip


def accept_loss(
    partition: Annotated[
        str, typer.Argument(metavar="TOPIC:PARTITION", help="Partition, as TOPIC:PARTITION.", show_default=False)
    ],
    keep: Annotated[
        int,
        typer.Option(
            "--keep",
            metavar="BROKER",
            help="Broker whose log is kept: it becomes leader, the other replicas lose what it lacks.",
            show_default=False,
        ),
    ] = NO_LEADER,
    zookeeper: ZooKeeper = "",
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Let a partition be led though acknowledged records may be lost: nothing waits for replicas that are away any more.

    After its machine went down, a replica that was the last in sync waits for the others, which may have more. The best of those that
    are there leads; the log of its node says from which offset on records may be lost. After ZooKeeper was restored, a replica whose
    log is ahead of the state waits as well. Where there are two histories, that of the partition's leader counts, or, where it has none or
    is away, that of the best of the brokers that the held replica waits for; else the best log leads. With --keep that broker's does.
    """
    from headrace.node.held_replicas import accept_loss as accept

    topic, colon, index = partition.rpartition(":")
    if not colon or not topic or not index.isdecimal():
        raise bad("TOPIC:PARTITION", partition, "is not a partition: expected clicks:3")
    with open_cluster(bootstrap, command_config) as cluster:
        held = accept(zookeeper or _zookeeper_of(cluster), topic, int(index), keep)
    if not held:
        print_line(f"headrace: {topic}:{index} is not held; nothing to do", is_error=True)
        return 1
    there = [str(one.broker) for one in held if not one.is_away]
    away = [str(one.broker) for one in held if one.is_away]
    who = "the best available replica" if keep == NO_LEADER else f"broker {keep}"
    if there:
        print_line(f"{topic}:{index} will be led by {who} in a few seconds (held by {', '.join(there)})")
    if away:
        print_line(
            f"{topic}:{index} is also held by {', '.join(away)}, which is offline and applies this when it returns"
            if there
            else f"{topic}:{index} is held by {', '.join(away)}, which is offline and applies this when it returns;"
            " until then, only a reassignment stops waiting for its log",
            is_error=True,
        )
    return 0


def restored(
    zookeeper: Annotated[
        str,
        typer.Argument(
            metavar="HOST:PORT,...", help="Address of the ensemble, as in zookeeper.connect.", show_default=False
        ),
    ],
    node: Annotated[
        list[int] | None,
        typer.Option(
            "--node",
            metavar="BROKER",
            help="Ids of the Headrace nodes; the other brokers run Apache Kafka. Default: as recorded in ZooKeeper.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Have a ZooKeeper that was put back to a backup believed in nothing that the logs may know better; before the nodes start.

    Every replica is held until its node has compared the logs of all replicas of the partition. The best one leads.
    """
    from headrace.node.restored_zookeeper import hold_all

    count = hold_all(zookeeper, lambda text: print_line(text, is_error=True), nodes=node or ())
    print(f"{count} partitions will be led by their best log once all nodes are up: start all of them now")
    print("to list waiting partitions: headrace cluster describe --held")
    return 0


def held_in(cluster: Cluster, zookeeper: str) -> list[dict[str, Any]]:
    """Partitions that are held, as they are printed."""
    from headrace.node.held_replicas import read_held

    return [_row(one) for one in read_held(zookeeper or _zookeeper_of(cluster))]


def print_held(rows: list[dict[str, Any]], as_json: bool) -> None:
    """As a table, or one JSON object a line."""
    from headrace.cli.table import print_table

    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    print_table(
        ["TOPIC", "PARTITION", "HELD-BY", "WAITS-FOR", "LOG-END", "HIGH-WATERMARK", "LOSS"],
        [
            [
                row["topic"],
                row["partition"],
                row["held_by"],
                ",".join(map(str, row["waits_for"])) or None,
                row["log_end"],
                row["high_watermark"],
                _loss(row),
            ]
            for row in rows
        ],
    )


def _row(held: Held) -> dict[str, Any]:
    one = held.replica
    return {
        "topic": held.topic,
        "partition": held.partition,
        "held_by": held.broker,
        "waits_for": list(one.waits_for),
        "log_end": one.end_offset if one.end_offset >= 0 else None,
        "high_watermark": one.high_watermark if one.high_watermark >= 0 else None,
        "is_proven": one.is_proven,
        "parted_at": one.parted_at if one.is_ahead else None,
    }


def _loss(row: dict[str, Any]) -> str:
    """Of what has the log more than the partition's state, or may have less than it should."""
    if row["parted_at"] is not None:
        return f"old state, log ahead of it from {row['parted_at']} on"
    return "certain" if row["is_proven"] else "possible"


def _zookeeper_of(cluster: Cluster) -> str:
    """Where the brokers' ZooKeeper is, as one of them says. raises KafkaError"""
    from headrace.client.admin import Admin
    from headrace.errors import ErrorCode, KafkaError

    found = Admin(cluster).describe_broker_configs([ZOOKEEPER_KEY]).get(ZOOKEEPER_KEY)
    if not found:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"no broker reports its {ZOOKEEPER_KEY}: pass --zookeeper HOST:PORT")
    return found
