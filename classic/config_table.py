"""Tables of configuration keys: Kafka's dotted names, their synonyms of another generation, types, defaults, checks.

A value is what a properties file has (a text), or what a Python program gives (a number, a class). A key that no table has is refused with
the nearest name, so that a misspelt key is not a default in silence. A key and its synonym in one config are refused unless they agree.

Source: the configuration chapters of Kafka's documentation, 0.7, 0.8.1 and 0.8.2.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.errors import ConfigError

JAVA_INT = (1 << 31) - 1  # Java's
JAVA_LONG = (1 << 63) - 1

Parse = Callable[[str, Any], Any]


class Key(NamedTuple):
    """One setting.

    name       as Kafka 0.8 has it
    synonyms   names of 0.7, and of later clients
    parse      of (key as it was written, value); raises ConfigError
    """

    name: str
    default: Any
    parse: Parse
    synonyms: tuple[str, ...] = ()


class Table:
    """The keys of one kind of client."""

    def __init__(self, kind: str, keys: tuple[Key, ...]) -> None:
        self._kind = kind
        self._keys = {key.name: key for key in keys}
        self._names = {name: key for key in keys for name in (key.name, *key.synonyms)}
        assert len(self._names) == sum(1 + len(key.synonyms) for key in keys), "duplicate name"

    @property
    def names(self) -> list[str]:
        """Every name that is accepted, synonyms included."""
        return sorted(self._names)

    def read(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The value of every setting by its name of 0.8: what `config` has, and the defaults.

        raises   ConfigError, for an unknown key, an invalid value, or two names of one setting with two values
        """
        found = {key.name: key.default for key in self._keys.values()}
        written: dict[str, str] = {}
        for name, value in config.items():
            key = self._names.get(name)
            if key is None:
                raise ConfigError(str(name), value, f"not a key of a {self._kind}{self._nearest(str(name))}")
            parsed = key.parse(name, value)
            other = written.setdefault(key.name, name)
            if other != name and found[key.name] != parsed:
                raise ConfigError(name, value, f"{other} is the same setting and is set to {config[other]!r}")
            found[key.name] = parsed
        return found

    def _nearest(self, name: str) -> str:
        near = difflib.get_close_matches(name.lower().replace("_", "."), self._names, n=1)
        return f"; the nearest is {near[0]}" if near else ""


def integer(low: int = 0, high: int = JAVA_INT) -> Parse:
    """A whole number in low..high."""

    def parse(key: str, value: Any) -> int:
        try:
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise ValueError
            number = int(value)
        except ValueError:
            raise ConfigError(key, value, "expected a whole number") from None
        if not low <= number <= high:
            raise ConfigError(key, value, f"expected {low} to {high}")
        return number

    return parse


def boolean(key: str, value: Any) -> bool:
    """True or false, in any case."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ConfigError(key, value, "expected true or false")
    return text == "true"


def choice(*names: str, synonyms: Mapping[str, str] | None = None) -> Parse:
    """One of these names; `synonyms` are other ways to say one."""
    known = {**{name: name for name in names}, **(synonyms or {})}

    def parse(key: str, value: Any) -> str:
        found = known.get(str(value).strip().lower())
        if found is None:
            raise ConfigError(key, value, f"expected one of {', '.join(names)}")
        return found

    return parse


def text(key: str, value: Any) -> str:
    """Any text, without the spaces around it."""
    if not isinstance(value, str):
        raise ConfigError(key, value, "expected a string")
    return value.strip()


def names(key: str, value: Any) -> tuple[str, ...]:
    """Texts with commas between them, or a list of texts."""
    parts = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else None
    if parts is None or not all(isinstance(part, str) for part in parts):
        raise ConfigError(key, value, "expected names separated by commas")
    return tuple(part.strip() for part in parts if part.strip())


def as_given(_key: str, value: Any) -> Any:
    """A class, an instance, or the name of a class: what it has to be is checked where it is made (`plugins.py`)."""
    return value
