"""`headrace settings`: the table of settings, out of `headrace/settings.py` itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.arguments import bad

if TYPE_CHECKING:
    from headrace.settings import Setting

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
EXAMPLES = """
[bold]Examples[/bold]

headrace settings retention

headrace settings --topics cleanup.policy

headrace settings --markdown > settings.md
"""


def settings(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Only keys that contain one of these words.")
    ] = None,
    of_topics: Annotated[
        bool, typer.Option("--topics", help="List topic settings, each with the broker setting it defaults to.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> int:
    """List the settings of a node: key, default, type, valid values, whether a change applies live or after a restart, description.

    Keys are Kafka's own, and [bold]headrace.*[/bold] for what Kafka doesn't have. No node is contacted: its log
    has the values it runs with, and so has [bold]kafka-configs --describe --all[/bold].
    """
    from headrace.cli.table import print_table

    if as_json and as_markdown:
        raise typer.BadParameter("--json and --markdown can't be combined")
    rows = [row for row in _rows(of_topics) if not words or any(word in row["key"] for word in words)]
    if not rows:
        raise bad("WORD", " ".join(words or []), _why_none(words or []))
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return 0
    heads = ["KEY", "DEFAULT", "TYPE", "VALUES", "CHANGES", "DESCRIPTION"]
    lines = [[row["key"], row["default"], row["type"], row["values"], row["changes"], row["doc"]] for row in rows]
    if as_markdown:
        print(f"| {' | '.join(head.lower() for head in heads)} |\n|{'---|' * len(heads)}")
        for line in lines:
            print(f"| {' | '.join(_cell(text) for text in line)} |")
        return 0
    print_table(heads, lines)
    return 0


def _rows(of_topics: bool) -> list[dict[str, Any]]:
    from headrace.settings import BROKER_SETTINGS, DYNAMIC_KEYS, TOPIC_SETTINGS, broker_setting

    if not of_topics:
        return [_row(setting.key, setting, setting.key in DYNAMIC_KEYS) for setting in BROKER_SETTINGS]
    rows = []
    for key, broker_key in sorted(TOPIC_SETTINGS.items()):
        row = _row(key, broker_setting(broker_key), is_live=True)
        if broker_key != key:
            row["doc"] += f" Default: the broker's {broker_key}."
        rows.append(row)
    return rows


def _row(key: str, setting: Setting, is_live: bool) -> dict[str, Any]:
    return {
        "key": key,
        "default": setting.default,
        "type": setting.kind.name.lower(),
        "values": _values(setting),
        "changes": "live" if is_live else "restart",
        "doc": setting.doc,
    }


def _why_none(words: list[str]) -> str:
    """The reason that nothing matches; for a key that a node refuses, that it does."""
    from headrace.errors import ConfigError
    from headrace.refused_settings import refuse_promises

    try:
        refuse_promises({key: "some" for word in words for key in (word, f"{word}.")})
    except ConfigError as failure:
        return f"is not supported: a node refuses to start with {failure.key.rstrip('.')}: {failure.reason}"
    return "matches no key"


def _values(setting: Setting) -> str:
    """What is accepted, '' where the type says all."""
    if setting.choices:
        return ", ".join(setting.choices)
    low, high = setting.minimum, setting.maximum
    if high in (INT_MAX, LONG_MAX):
        high = None
    if low is None:
        return "" if high is None else f"up to {high}"
    return f"from {low}" if high is None else f"{low} to {high}"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")
