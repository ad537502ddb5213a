"""`headrace topics create|list|describe|alter|delete`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.arguments import bad, parse_pairs, parse_topic
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.printable import print_line
from headrace.limits import PARTITIONS_PER_TOPIC_MAX

if TYPE_CHECKING:
    from headrace.client.admin import Admin, Errors
    from headrace.client.cluster import Cluster

REPLICAS_MAX = 32_767

app = typer.Typer(
    name="topics",
    help="Create, list, describe, alter and delete topics.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="[bold]Examples[/bold]\n\nheadrace topics create clicks --partitions 6\n\nheadrace topics describe clicks",
)

Names = Annotated[list[str], typer.Argument(metavar="TOPIC", help="Topic names.", show_default=False)]
Configs = Annotated[
    list[str] | None, typer.Option("--config", metavar="KEY=VALUE", help="Set a topic setting; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace topics create clicks --partitions 6\n\n"
    "headrace topics create prices --replication-factor 3 --config cleanup.policy=compact --if-not-exists"
)
def create(
    names: Names,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1, max=PARTITIONS_PER_TOPIC_MAX, help="Number of partitions. Default: the broker's num.partitions."
        ),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=REPLICAS_MAX,
            help="Replicas of each partition. Default: the broker's default.replication.factor.",
        ),
    ] = None,
    configs: Configs = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Don't fail if the topic exists.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Validate only, change nothing.")] = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Create topics."""
    from headrace.client.admin import Admin, NewTopic
    from headrace.errors import ErrorCode

    settings = parse_pairs("--config", configs or [])
    wanted = [
        NewTopic(parse_topic("TOPIC", name), partitions or -1, replication_factor or -1, settings)
        for name in dict.fromkeys(names)
    ]
    with open_cluster(bootstrap, command_config) as cluster:
        errors = Admin(cluster).create_topics(wanted, validate_only=dry_run)
    tolerated = (ErrorCode.TOPIC_ALREADY_EXISTS,) if if_not_exists else ()
    return report(errors, "could be created" if dry_run else "created", tolerated)


@app.command(
    name="list",
    epilog="[bold]Examples[/bold]\n\nheadrace topics list\n\nheadrace topics list -b broker1:9092 --json | jq -r .topic",
)
def list_(
    internal: Annotated[bool, typer.Option("--internal", help="Include Kafka's internal topics.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """List the names of all topics, one per line."""
    with open_cluster(bootstrap, command_config) as cluster:
        names = _all_topics(cluster, internal)
        counts = Counter(partition.topic for partition in cluster.partitions)
        for name in names:
            fields = {"topic": name, "partitions": counts[name], "internal": name in cluster.internal_topics}
            print(json.dumps(fields) if as_json else name)
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace topics describe clicks\n\nheadrace topics describe --json | jq .partitions"
)
def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="Topic names. Default: all.")] = None,
    all_configs: Annotated[
        bool, typer.Option("--all-configs", help="Show all settings, not only the topic's overrides.")
    ] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Show partitions, leaders, replicas, offsets and settings of topics."""
    from headrace.client.admin import Admin

    wanted = [parse_topic("TOPIC", name) for name in dict.fromkeys(names or [])]
    with open_cluster(bootstrap, command_config) as cluster:
        if wanted:
            cluster.refresh(wanted)
        else:
            wanted = _all_topics(cluster, internal=False)
        admin = Admin(cluster)
        descriptions = (_described(cluster, admin, name, all_configs) for name in wanted)
        print_descriptions(descriptions, as_json, _print_description)
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace topics alter clicks --partitions 12\n\n"
    "headrace topics alter clicks --config retention.ms=86400000 --delete-config segment.ms"
)
def alter(
    name: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic name.")],
    partitions: Annotated[
        int | None, typer.Option(min=1, max=PARTITIONS_PER_TOPIC_MAX, help="Increase the number of partitions to this.")
    ] = None,
    configs: Configs = None,
    deleted: Annotated[
        list[str] | None,
        typer.Option("--delete-config", metavar="KEY", help="Reset a setting to its default; repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Validate only, change nothing.")] = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Add partitions to a topic or change its settings. Existing records stay where they are; a key may map to a new partition."""
    from headrace.client.admin import Admin

    parse_topic("TOPIC", name)
    changes: dict[str, str | None] = dict(parse_pairs("--config", configs or []))
    for key in deleted or []:
        if "=" in key or not key.strip():
            raise bad("--delete-config", key, "is not a KEY")
        if key in changes:
            raise bad("--delete-config", key, "is also set by --config")
        changes[key] = None
    if partitions is None and not changes:
        raise typer.BadParameter("nothing to change: --partitions, --config or --delete-config is required")
    done = "could be altered" if dry_run else "altered"
    with open_cluster(bootstrap, command_config) as cluster:
        admin = Admin(cluster)
        if changes:
            admin.alter_configs(name, changes, validate_only=dry_run)
        if partitions is not None:
            error = admin.create_partitions({name: partitions}, validate_only=dry_run)[name]
            if error is not None:
                if changes and not dry_run:
                    print_line(f"{name}: settings were altered, partitions were not")
                raise error
    print_line(f"{done} {name}")
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace topics delete clicks\n\nheadrace topics delete a b c --if-exists"
)
def delete(
    names: Names,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Don't fail if the topic does not exist.")] = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Delete topics and all their records."""
    from headrace.client.admin import Admin
    from headrace.errors import ErrorCode

    wanted = [parse_topic("TOPIC", name) for name in dict.fromkeys(names)]
    with open_cluster(bootstrap, command_config) as cluster:
        errors = Admin(cluster).delete_topics(wanted)
    return report(errors, "deleted", (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,) if if_exists else ())


def report(errors: Errors, done: str, tolerated: tuple[Any, ...] = ()) -> int:
    """Print the outcome of each; the exit code."""
    from headrace.cli.advice import advice_for

    exit_code = 0
    for name, error in errors.items():
        if error is None:
            print_line(f"{done} {name}")
        elif error.code in tolerated:
            print_line(f"unchanged {name}: {error.code.name}")
        else:
            print_line(f"headrace: {error}", is_error=True)
            if advice := advice_for(error):
                print_line(f"  {advice}", is_error=True)
            exit_code = 1
    return exit_code


def print_descriptions(
    descriptions: Iterable[dict[str, Any]], as_json: bool, show: Callable[[dict[str, Any]], None]
) -> None:
    """Each as soon as it is there: as a line of JSON, or as `show` prints it, with an empty line between two."""
    for index, description in enumerate(descriptions):
        if as_json:
            print(json.dumps(description))
        else:
            if index:
                print()
            show(description)


def _all_topics(cluster: Cluster, internal: bool) -> list[str]:
    names = cluster.refresh(None)
    return sorted(name for name in names if internal or name not in cluster.internal_topics)


def _described(cluster: Cluster, admin: Admin, name: str, all_configs: bool) -> dict[str, Any]:
    from headrace.client.cluster import EARLIEST, LATEST

    found = {one.partition: row for one, row in cluster.partitions.items() if one.topic == name}
    names = {
        one: one.partition
        for one, row in cluster.partitions.items()
        if one.topic == name and row.leader in cluster.brokers
    }
    starts = {one.partition: offset for one, offset in cluster.offsets(dict.fromkeys(names, EARLIEST)).items()}
    ends = {one.partition: offset for one, offset in cluster.offsets(dict.fromkeys(names, LATEST)).items()}
    configs = [config for config in admin.describe_configs([name])[name] if all_configs or config.source == "topic"]
    return {
        "topic": name,
        "partitions": [
            {
                "partition": index,
                "leader": row.leader if row.leader in cluster.brokers else None,
                "replicas": list(row.replicas),
                "isr": list(row.isr),
                "offline": list(row.offline),
                "start": starts.get(index),
                "end": ends.get(index),
            }
            for index, row in sorted(found.items())
        ],
        "configs": [{"key": config.name, "value": config.value, "source": config.source} for config in configs],
    }


def _print_description(description: dict[str, Any]) -> None:
    from headrace.cli.table import print_table

    rows = description["partitions"]
    print_line(
        f"topic {description['topic']}  partitions {len(rows)}  replicas {len(rows[0]['replicas']) if rows else 0}"
    )
    for config in description["configs"]:
        print_line(f"  {config['key']}={config['value'] if config['value'] is not None else ''}  ({config['source']})")
    print_table(
        ["PARTITION", "LEADER", "REPLICAS", "ISR", "OFFLINE", "START", "END"],
        [
            [
                row["partition"],
                row["leader"],
                *(",".join(map(str, row[key])) for key in ("replicas", "isr", "offline")),
                row["start"],
                row["end"],
            ]
            for row in rows
        ],
    )
