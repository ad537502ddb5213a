"""The source of `headrace/setting_types.py`: each key of the settings with the type of its value.

`settings["log.dirs"]` is a `tuple[str, ...]`, `settings["log.dir"]` an error of the type checker; the values of
a topic (`TopicValues`) are the same, by topic keys. Made from the tables in `headrace/settings.py`.
"""

from __future__ import annotations

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
_HEADER = '''"""Each key of the settings with the type of its value.

Made by `make codec` from the tables in headrace/settings.py: do not edit.
"""

from typing import Any, Literal, TypedDict, overload
'''


def setting_types() -> str:
    """The text of the file, not formatted."""
    rows = [f"{key!r}: {value_type(_setting(broker_key))}," for key, broker_key in TOPIC_SETTINGS.items()]
    return "\n".join(
        [
            _HEADER,
            "class SettingValues:",
            '    """Parsed values by key: the part of `Settings` that reads them."""',
            "    _values: dict[str, Any]",
            *_overloads(),
            "    def __getitem__(self, key: str) -> Any:",
            "        return self._values[key]",
            "# Values by topic key",
            f"TopicValues = TypedDict('TopicValues', {{{' '.join(rows)}}})",
            "",
        ]
    )


def value_type(setting: Setting) -> str:
    """The annotation of a setting's value: one that has neither a value nor a derived one may be None."""
    name = _TYPES[setting.kind]
    return name if Settings().value(setting.key) is not None else f"{name} | None"


def _setting(key: str) -> Setting:
    return next(setting for setting in (*BROKER_SETTINGS, *TOPIC_ONLY_SETTINGS) if setting.key == key)


def _overloads() -> list[str]:
    by_type: dict[str, list[str]] = {}
    for setting in (*BROKER_SETTINGS, *TOPIC_ONLY_SETTINGS):
        by_type.setdefault(value_type(setting), []).append(setting.key)
    return [
        line
        for name, keys in by_type.items()
        for line in ("    @overload", f"    def __getitem__(self, key: Literal{keys!r}) -> {name}: ...")
    ]
