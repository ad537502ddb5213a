"""The stub of `settings.py`: each key with the type of its value.

`settings["log.dirs"]` is a `tuple[str, ...]`, `settings["log.dir"]` an error of the type checker; the values of
a topic (`TopicValues`) are the same, by topic keys. Made from the tables themselves.

Runs in: `make lint` (`tests/support/write_stubs.py`).
"""

from __future__ import annotations

from headrace.module_stub import module_stub
from headrace.settings import BROKER_SETTINGS, TOPIC_ONLY_SETTINGS, TOPIC_SETTINGS, Kind, Setting, Settings

_TYPES = {
    Kind.BOOLEAN: "bool",
    Kind.STRING: "str",
    Kind.INT: "int",
    Kind.SHORT: "int",
    Kind.LONG: "int",
    Kind.DOUBLE: "float",
    Kind.LIST: "tuple[str, ...]",
}


def settings_stub(source: str) -> str:
    """The text of `settings.pyi`, from that of `settings.py`."""
    return module_stub(
        source,
        {"Settings.__getitem__": _overloads(), "TopicValues": _topic_values()},
        "from typing import Literal, TypedDict, overload\n",
    )


def value_type(setting: Setting) -> str:
    """The annotation of a setting's value: one that has neither a value nor a derived one may be None."""
    name = _TYPES[setting.kind]
    return name if Settings().value(setting.key) is not None else f"{name} | None"


def _overloads() -> str:
    by_type: dict[str, list[str]] = {}
    for setting in (*BROKER_SETTINGS, *TOPIC_ONLY_SETTINGS):
        by_type.setdefault(value_type(setting), []).append(setting.key)
    return "\n".join(
        f"@overload\ndef __getitem__(self, key: Literal{keys!r}) -> {name}: ..." for name, keys in by_type.items()
    )


def _topic_values() -> str:
    by_key = {setting.key: setting for setting in (*BROKER_SETTINGS, *TOPIC_ONLY_SETTINGS)}
    rows = [f"{key!r}: {value_type(by_key[broker_key])}" for key, broker_key in TOPIC_SETTINGS.items()]
    return f"TopicValues = TypedDict('TopicValues', {{{', '.join(rows)}}})"
