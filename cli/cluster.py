"""`headrace cluster describe`, and the group of commands about a cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import cluster_holds, cluster_moves
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.cli.topics import AsJson

if TYPE_CHECKING:
    from headrace.client.cluster_health import ClusterHealth, PartitionHealth

app = typer.Typer(
    name="cluster",
    help="Describe and rebalance a cluster, and elect leaders.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="[bold]Examples[/bold]\n\nheadrace cluster describe\n\nheadrace cluster describe --under-replicated\n\n"
    "headrace cluster rebalance",
)


@app.callback()
def group() -> None:
    """Describe and rebalance a cluster, and elect leaders."""


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace cluster describe -b broker1:9092\n\n"
    "headrace cluster describe --offline --under-min-isr\n\n"
    "headrace cluster describe --json | jq '.partitions.offline'"
)
def describe(
    offline: Annotated[bool, typer.Option("--offline", help="List partitions without a leader.")] = False,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="List partitions with replicas that are not in sync.")
    ] = False,
    under_min_isr: Annotated[
        bool,
        typer.Option("--under-min-isr", help="List partitions with fewer in-sync replicas than min.insync.replicas."),
    ] = False,
    at_min_isr: Annotated[
        bool,
        typer.Option(
            "--at-min-isr",
            help="List partitions with exactly min.insync.replicas in-sync replicas, including all with a single replica.",
        ),
    ] = False,
    held: Annotated[
        bool,
        typer.Option(
            "--held",
            help="List offline partitions that are waiting for replicas with possibly more records; see accept-loss.",
        ),
    ] = False,
    zookeeper: cluster_holds.ZooKeeper = "",
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Show brokers, the controller, and how many partitions are offline, under-replicated, below or at their minimum ISR.

    With one or more of the list options, those partitions are printed instead, one per line.
    """
    from headrace.client.cluster_health import KINDS, cluster_health

    wanted = dict(zip(KINDS, (offline, under_replicated, under_min_isr, at_min_isr), strict=True))
    with open_cluster(bootstrap, command_config) as cluster:
        if held:
            cluster_holds.print_held(cluster_holds.held_in(cluster, zookeeper), as_json)
            return 0
        health = cluster_health(cluster)
    if any(wanted.values()):
        listed = [one for one in health.partitions if any(wanted[kind] for kind in one.kinds)]
        _print_partitions(listed, as_json)
    elif as_json:
        print(json.dumps(_fields(health, KINDS)))
    else:
        _print_health(health, KINDS)
        if health.count("offline"):
            print_line(
                "for offline partitions that are waiting for other replicas, see headrace cluster describe --held"
            )
    return 0


app.command(epilog=cluster_moves.EXAMPLES_REBALANCE)(cluster_moves.rebalance)
app.command(epilog=cluster_moves.EXAMPLES_REASSIGNMENTS)(cluster_moves.reassignments)
app.command("accept-loss", epilog=cluster_holds.EXAMPLES_ACCEPT)(cluster_holds.accept_loss)
app.command("restored", epilog=cluster_holds.EXAMPLES_RESTORED)(cluster_holds.restored)
app.command("elect-leaders", epilog=cluster_moves.EXAMPLES_ELECT)(cluster_moves.elect_leaders)


def _fields(health: ClusterHealth, kinds: Sequence[str]) -> dict[str, Any]:
    return {
        "cluster": health.cluster_id,
        "controller": health.controller_id,
        "brokers": [
            {
                "broker": load.node_id,
                "host": load.broker.host if load.broker else None,
                "port": load.broker.port if load.broker else None,
                "rack": load.broker.rack if load.broker else None,
                "alive": load.broker is not None,
                "controller": load.is_controller,
                "leaders": load.leaders,
                "replicas": load.replicas,
            }
            for load in health.brokers
        ],
        "topics": health.topics,
        "partitions": {
            "all": health.partition_count,
            **{kind.replace("-", "_"): health.count(kind) for kind in kinds},
        },
    }


def _print_health(health: ClusterHealth, kinds: Sequence[str]) -> None:
    from headrace.cli.table import print_table

    controller = "none" if health.controller_id is None else health.controller_id
    print_line(f"cluster {health.cluster_id or '-'}  controller {controller}")
    counts = "  ".join(f"{kind} {health.count(kind)}" for kind in kinds)
    print_line(f"topics {health.topics}  partitions {health.partition_count}  {counts}")
    print_table(
        ["BROKER", "ADDRESS", "RACK", "STATE", "LEADERS", "REPLICAS"],
        [
            [
                load.node_id,
                f"{load.broker.host}:{load.broker.port}" if load.broker else None,
                load.broker.rack if load.broker else None,
                "gone" if load.broker is None else "controller" if load.is_controller else "alive",
                load.leaders,
                load.replicas,
            ]
            for load in health.brokers
        ],
    )


def _print_partitions(found: Sequence[PartitionHealth], as_json: bool) -> None:
    from headrace.cli.table import print_table

    rows: list[dict[str, Any]] = [
        {
            "topic": one.name.topic,
            "partition": one.name.partition,
            "leader": None if "offline" in one.kinds else one.partition.leader,
            "replicas": list(one.partition.replicas),
            "isr": list(one.partition.isr),
            "min_isr": one.min_isr,
            "is": list(one.kinds),
        }
        for one in found
    ]
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    print_table(
        ["TOPIC", "PARTITION", "LEADER", "REPLICAS", "ISR", "MIN-ISR", "IS"],
        [
            [
                row["topic"],
                row["partition"],
                row["leader"],
                *(",".join(map(str, row[key])) for key in ("replicas", "isr")),
                row["min_isr"],
                ",".join(row["is"]),
            ]
            for row in rows
        ],
    )
