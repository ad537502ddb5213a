"""`headrace transactions list|describe|why|find-hanging|abort`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.arguments import bad, parse_offset, parse_partition, parse_topic, parse_topic_partitions, parse_word
from headrace.cli.client_options import Bootstrap, CommandConfig, open_cluster
from headrace.cli.load_arguments import parse_duration
from headrace.cli.printable import print_line
from headrace.cli.topics import AsJson, print_descriptions, report

if TYPE_CHECKING:
    from headrace.client.admin import Errors
    from headrace.client.cluster import Cluster
    from headrace.client.open_transactions import Found
    from headrace.ids import TopicPartition

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
FENCE_TIMEOUT_MS = 60_000  # of an id without a producer, until the next one says its own: below most brokers' limit
MAX_TIMEOUT_KEY = "transaction.max.timeout.ms"
MAX_TIMEOUT_MS_DEFAULT = "900000"  # Kafka's, where no broker reports it

app = typer.Typer(
    name="transactions",
    help="List and describe transactions, find what holds up readers of committed records, and abort it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="[bold]Examples[/bold]\n\nheadrace transactions why clicks-3\n\nheadrace transactions find-hanging\n\n"
    "headrace transactions abort copier-1",
)

Broker = Annotated[int | None, typer.Option("--broker", metavar="BROKER", min=0, help="Only partitions led by it.")]


@app.command(
    name="list",
    epilog="[bold]Examples[/bold]\n\nheadrace transactions list\n\n"
    "headrace transactions list --state Ongoing --open-for 10m --json",
)
def list_(
    states: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help=f"Only ids in this state: {', '.join(STATES)}; repeatable."),
    ] = None,
    producers: Annotated[
        list[int] | None,
        typer.Option(
            "--producer", metavar="ID", min=0, help="Only transactional ids with this producer id; repeatable."
        ),
    ] = None,
    open_for: Annotated[
        str | None,
        typer.Option("--open-for", metavar="TIME", help="Only transactions open for longer: 10m (Kafka 3.8 or later)."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """List transactional ids with coordinator, producer id and state."""
    from headrace.cli.table import print_table
    from headrace.client.admin import TransactionAdmin

    wanted = [parse_word("--state", text, STATES) for text in states or []]
    duration_ms = -1 if open_for is None else round(parse_duration("--open-for", open_for) * 1000)
    with open_cluster(bootstrap, command_config) as cluster:
        listing = TransactionAdmin(cluster).list(wanted, producers or [], duration_ms)
    for index in listing.silent:
        print_line(f"headrace: __transaction_state-{index} can't be asked: ids in it are missing", is_error=True)
    if as_json:
        for row in listing.transactions:
            fields = {"transactional_id": row.transactional_id, "coordinator": row.coordinator}
            print(json.dumps({**fields, "producer": row.producer_id, "state": row.state}))
    else:
        print_table(["TRANSACTIONAL-ID", "COORDINATOR", "PRODUCER", "STATE"], listing.transactions)
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace transactions describe copier-1\n\n"
    "headrace transactions describe copier-1 --json | jq .partitions"
)
def describe(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Transactional ids.", show_default=False)],
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Show state, producer, timeout and partitions of transactional ids."""
    from headrace.cli.transaction_texts import description_fields, description_lines
    from headrace.client.admin import TransactionAdmin
    from headrace.errors import KafkaError

    errors: Errors = {}
    lines: dict[str, list[str]] = {}
    with open_cluster(bootstrap, command_config) as cluster:
        admin = TransactionAdmin(cluster)

        def descriptions() -> Iterator[dict[str, Any]]:
            for name in dict.fromkeys(ids):
                try:
                    row = admin.describe(_checked(name))
                except KafkaError as failure:
                    errors[name] = failure
                    continue
                lines[name] = description_lines(row, _now_ms())
                yield description_fields(row, _now_ms())

        def show(fields: dict[str, Any]) -> None:
            for line in lines[fields["transactional_id"]]:
                print_line(line)

        print_descriptions(descriptions(), as_json, show)
    return report(errors, "described")


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace transactions why clicks-3\n\n"
    "headrace transactions why clicks-3 --json | jq .behind"
)
def why(
    partition: Annotated[
        str, typer.Argument(metavar="TOPIC-PARTITION", help="Partition, as clicks-3.", show_default=False)
    ],
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Show what holds down the last stable offset of a partition, up to which consumers with read_committed read."""
    from headrace.cli.transaction_texts import why_fields, why_lines
    from headrace.client.open_transactions import standstill

    name = parse_partition("TOPIC-PARTITION", partition)
    with open_cluster(bootstrap, command_config) as cluster:
        _check_there(cluster, name)
        found = standstill(cluster, name)
    if as_json:
        print(json.dumps(why_fields(found)))
    else:
        for line in why_lines(found, _now_ms()):
            print_line(line)
    return 0


@app.command(
    name="find-hanging",
    epilog="[bold]Examples[/bold]\n\nheadrace transactions find-hanging\n\n"
    "headrace transactions find-hanging --topic clicks --topic views:0-3 --older-than 1h --json",
)
def find_hanging(
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="TOPIC[:LIST]",
            help="A topic, or some of its partitions: clicks:0,2; repeatable. Default: all.",
        ),
    ] = None,
    broker: Broker = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help=f"Only those last written to longer ago. Default: the broker's {MAX_TIMEOUT_KEY}.",
        ),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Find open transactions that no coordinator will end: they hold down the last stable offset for ever."""
    from headrace.cli.table import print_table
    from headrace.cli.transaction_texts import found_fields
    from headrace.client import open_transactions
    from headrace.client.admin import Admin, TransactionAdmin

    scope = [parse_topic_partitions("--topic", text) for text in topics or []]
    age_ms = None if older_than is None else round(parse_duration("--older-than", older_than) * 1000)
    with open_cluster(bootstrap, command_config) as cluster:
        names = _searched(cluster, scope, broker)
        if age_ms is None:
            age_ms = int(
                Admin(cluster).describe_broker_configs([MAX_TIMEOUT_KEY]).get(MAX_TIMEOUT_KEY) or MAX_TIMEOUT_MS_DEFAULT
            )
        found = open_transactions.find_hanging(TransactionAdmin(cluster), names, age_ms, _now_ms())
    rows = [found_fields(one) for one in found]
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return 0
    keys = ("topic", "partition", "producer", "epoch", "start_offset", "transactional_id", "state")
    heads = [key.upper().replace("_", "-") for key in keys]
    now_ms = _now_ms()
    print_table(
        [*heads, "IDLE-MIN"],
        [[*(row[key] for key in keys), max(0, now_ms - row["last_written_ms"]) // 60_000] for row in rows],
    )
    if rows:
        print_line(
            "to abort one: headrace transactions abort --topic TOPIC --partition PARTITION --start-offset START-OFFSET",
            is_error=True,
        )
    return 0


@app.command(
    epilog="[bold]Examples[/bold]\n\nheadrace transactions abort copier-1\n\n"
    "headrace transactions abort --topic clicks --partition 3 --start-offset 120          # what would be done\n\n"
    "headrace transactions abort --topic clicks --partition 3 --start-offset 120 --force"
)
def abort(
    transactional_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Transactional id.", show_default=False)
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Of a hanging transaction.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Of a hanging transaction.")] = None,
    start_offset: Annotated[
        str | None, typer.Option("--start-offset", metavar="N", help="Its first offset; see find-hanging and why.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write the marker (default: dry run). Only for hanging transactions.")
    ] = False,
    bootstrap: Bootstrap = "",
    command_config: CommandConfig = None,
) -> int:
    """Abort an open transaction.

    With an ID its coordinator does it, in all partitions: the producer is fenced, and its program has to start a new one. A hanging
    transaction, which no coordinator knows, is ended in one partition by --topic, --partition, --start-offset and --force.
    """
    from headrace.ids import TopicPartition

    place = (topic, partition, start_offset)
    if transactional_id is not None:
        if force or any(one is not None for one in place):
            raise typer.BadParameter("an ID cannot be combined with --topic, --partition, --start-offset or --force")
        name = _checked(transactional_id)
        with open_cluster(bootstrap, command_config) as cluster:
            return _abort_id(cluster, name)
    if topic is None or partition is None or start_offset is None:
        raise typer.BadParameter("an ID, or --topic with --partition and --start-offset, is required")
    where = TopicPartition(parse_topic("--topic", topic), partition)
    offset = parse_offset("--start-offset", start_offset)
    with open_cluster(bootstrap, command_config) as cluster:
        _check_there(cluster, where)
        return _abort_hanging(cluster, where, offset, force)


def _abort_id(cluster: Cluster, name: str) -> int:
    """By its coordinator; only what is open: an id that is not known would be created."""
    from headrace.cli.transaction_texts import DECIDED, ONGOING, listed
    from headrace.client.admin import TransactionAdmin
    from headrace.errors import ErrorCode, KafkaError

    admin = TransactionAdmin(cluster)
    before = admin.describe(name)
    where = listed([str(one) for one in before.partitions])
    if before.state in DECIDED:
        raise KafkaError(
            ErrorCode.CONCURRENT_TRANSACTIONS,
            f"transactional id {name} is {before.state}: its transaction has ended, markers are still to be written in {where}",
        )
    if before.state != ONGOING:
        print_line(f"unchanged {name}: no transaction is open ({before.state})")
        return 0
    producer_id, epoch = admin.fence(name, min(before.timeout_ms, FENCE_TIMEOUT_MS))
    print_line(
        f"aborted {name} in {where or 'no partition'}: producer {before.producer_id} epoch {before.epoch} is fenced,"
        f" the next is {producer_id} epoch {epoch}"
    )
    return 0


def _abort_hanging(cluster: Cluster, where: TopicPartition, offset: int, is_forced: bool) -> int:
    """A lone marker, for what no coordinator knows."""
    from headrace.cli.transaction_texts import abort_command, holder_line
    from headrace.client.admin import TransactionAdmin
    from headrace.client.open_transactions import judge, open_ones
    from headrace.errors import ErrorCode, KafkaError

    admin = TransactionAdmin(cluster)
    transactions = [one for one in open_ones(admin.producers([where])) if one.first_offset == offset]
    found: list[Found] = judge(admin, transactions)
    if not found:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"{where}: no transaction is open since offset {offset}")
    [one] = found
    if not one.is_hanging:
        print_line(f"headrace: {where}: {holder_line(one, _now_ms())}", is_error=True)
        print_line(f"  its coordinator would not know of a lone marker; use {abort_command(one)}", is_error=True)
        return 1
    print_line(f"{where}: {holder_line(one, _now_ms())}")
    if not is_forced:
        print_line(f"dry run: with --force an abort marker is written at the end of {where}")
        return 0
    try:
        admin.write_abort_marker(where, one.transaction.producer)
    except KafkaError as failure:
        if failure.code is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        raise KafkaError(
            failure.code, f"{where}: leaders take markers only from the hosts of brokers: run this on one"
        ) from None
    print_line(f"aborted {where} from offset {offset} on")
    return 0


def _searched(cluster: Cluster, scope: list[tuple[str, list[int] | None]], broker: int | None) -> list[TopicPartition]:
    """Partitions to look at; those without a leader are named. raises KafkaError, where one does not exist"""
    from headrace.errors import ErrorCode, KafkaError
    from headrace.ids import TopicPartition

    known = set(cluster.refresh(sorted({topic for topic, _ in scope}) if scope else None))
    names = {name for name in cluster.partitions if name.topic in known}
    if scope:
        asked = {TopicPartition(topic, index) for topic, indexes in scope for index in indexes or ()}
        if missing := sorted(asked - names):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(missing[0]))
        whole = {topic for topic, indexes in scope if indexes is None}
        names = asked | {name for name in names if name.topic in whole}
    led = [name for name in sorted(names) if cluster.partitions[name].leader in cluster.brokers]
    if broker is not None:
        if broker not in cluster.brokers:
            raise bad("--broker", str(broker), "is not a broker of this cluster")
        return [name for name in led if cluster.partitions[name].leader == broker]
    for name in sorted(names - set(led)):
        print_line(f"headrace: skipped {name}: it has no leader", is_error=True)
    return led


def _check_there(cluster: Cluster, name: TopicPartition) -> None:
    """raises   KafkaError UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE"""
    from headrace.errors import ErrorCode, KafkaError

    cluster.refresh([name.topic])
    found = cluster.partitions.get(name)
    if found is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(name))
    if found.leader not in cluster.brokers:
        raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(name))


def _checked(name: str) -> str:
    from headrace.limits import STRING_BYTES_MAX

    if not name or len(name.encode()) > STRING_BYTES_MAX:
        raise bad("ID", name[:40], "is not a valid transactional id: empty, or too long")
    return name


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
