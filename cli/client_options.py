"""What all commands that talk to a cluster have in common: where it is, and a file with client settings.

    --bootstrap-servers HOST:PORT[,...]     wins over the others (also --bootstrap-server, as Kafka's tools spell it)
    HEADRACE_BOOTSTRAP_SERVERS              of the environment, wins over the file
    --command-config FILE                   Kafka's client properties; without any of these, 127.0.0.1:9092

An unknown key of the file is reported on standard error; an invalid value is refused (exit code 78).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.printable import print_line
from headrace.limits import REQUEST_TIMEOUT_MS_MAX

if TYPE_CHECKING:
    from headrace.client.cluster import Cluster
    from headrace.client.kafka import Kafka

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "HEADRACE_BOOTSTRAP_SERVERS"
REQUEST_TIMEOUT_MS_DEFAULT = 30_000

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap-servers",
        "--bootstrap-server",
        "-b",
        envvar=BOOTSTRAP_VARIABLE,
        metavar="HOST:PORT,...",
        help=f"Brokers to contact first.  [dim]\\[default: {DEFAULT_BOOTSTRAP}][/dim]",
        show_default=False,
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help="Client properties file: bootstrap.servers, client.id, request.timeout.ms, security.protocol.",
        exists=True,
        dir_okay=False,
    ),
]


def open_cluster(bootstrap: str, command_config: Path | None) -> Cluster:
    """The cluster that the options name; nothing has been asked of it yet.

    raises   typer.BadParameter, for invalid addresses; ConfigError, for a bad value in the file
    """
    from headrace.client.cluster import Cluster

    given = _read(command_config) if command_config is not None else {}
    addresses = bootstrap or given.get("bootstrap.servers", DEFAULT_BOOTSTRAP)
    try:
        return Cluster(addresses, _timeout_s(given), given.get("client.id", "headrace"))
    except ValueError as failure:
        raise typer.BadParameter(str(failure), param_hint="--bootstrap-servers") from None


def open_kafka(bootstrap: str, command_config: Path | None) -> Kafka:
    """The same for what uses the client's engine. Raises as `open_cluster`"""
    from headrace.client.kafka import Kafka

    given = _read(command_config) if command_config is not None else {}
    _timeout_s(given)
    try:
        return Kafka(
            bootstrap or given.get("bootstrap.servers", DEFAULT_BOOTSTRAP), client_id=given.get("client.id", "headrace")
        )
    except ValueError as failure:
        raise typer.BadParameter(str(failure), param_hint="--bootstrap-servers") from None


def _read(path: Path) -> dict[str, str]:
    from headrace.errors import ConfigError
    from headrace.properties import read_properties_file

    try:
        given = read_properties_file(path)
    except (OSError, ValueError) as failure:
        raise ConfigError("--command-config", str(path), str(failure)) from None
    protocol = given.pop("security.protocol", "PLAINTEXT")
    if protocol.upper() != "PLAINTEXT":
        raise ConfigError("security.protocol", protocol, "only PLAINTEXT is supported so far")
    unknown = sorted(given.keys() - {"bootstrap.servers", "client.id", "request.timeout.ms"})
    if unknown:
        print_line(f"headrace: {path}: ignored unknown keys: {', '.join(unknown)}", is_error=True)
    return given


def _timeout_s(given: dict[str, str]) -> float:
    from headrace.errors import ConfigError

    text = given.get("request.timeout.ms", str(REQUEST_TIMEOUT_MS_DEFAULT))
    if not text.isdigit() or not 1 <= int(text) <= REQUEST_TIMEOUT_MS_MAX:
        raise ConfigError("request.timeout.ms", text, f"must be a whole number from 1 to {REQUEST_TIMEOUT_MS_MAX}")
    return int(text) / 1000
