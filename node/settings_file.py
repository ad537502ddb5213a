"""A node's settings from its file and its command line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import ConfigError
from headrace.settings import Settings, read_properties

_log = logging.getLogger(__name__)


def load_settings(path: Path, changes: Mapping[str, str]) -> Settings:
    """Settings of a `server.properties`, with `changes` on top.

    raises   ConfigError, where the file can't be read or a value can't be used
    """
    try:
        text = path.read_text()
    except OSError as failure:
        raise ConfigError("FILE", str(path), failure.strerror or str(failure)) from None
    return checked({**read_properties(text), **changes})


def checked(given: Mapping[str, str]) -> Settings:
    """Settings of pairs, with a warning for each unknown key."""
    settings = Settings(given)
    for key in settings.unknown:
        _log.warning("unknown setting ignored key=%s", key)
    return settings


def parse_changes(pairs: list[str]) -> dict[str, str]:
    """`key=value` arguments as a dict; raises ConfigError."""
    changes = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise ConfigError("--set", pair, "must look like key=value")
        changes[key.strip()] = value.strip()
    return changes
