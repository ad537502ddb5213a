"""A node's settings from its `server.properties` and its command line.

Runs in: the commands that start a node, before anything else happens. Bad values are refused with key, value
and reason; unknown keys warn, because a Kafka file may hold many that mean nothing to us.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.errors import ConfigError
from headrace.settings import Settings, broker_setting, read_properties

SIMILARITY_MIN = 0.85  # of an unknown key to the one that was perhaps meant

_log = logging.getLogger(__name__)


def load_settings(path: Path, changes: Mapping[str, str]) -> Settings:
    """Settings of a file, with `changes` on top.

    raises   ConfigError, where the file can't be read or a value can't be used
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as failure:
        raise ConfigError("FILE", str(path), failure.strerror or str(failure)) from None
    except UnicodeDecodeError:
        raise ConfigError("FILE", str(path), "is no UTF-8 text") from None
    return checked({**read_properties(text), **changes})


def checked(given: Mapping[str, str]) -> Settings:
    """Settings of pairs, with a warning for each unknown key."""
    settings = Settings(given)
    for key in settings.unknown:
        meant = difflib.get_close_matches(key, settings, n=1, cutoff=SIMILARITY_MIN)
        _log.warning("unknown setting ignored key=%s%s", key, f" perhaps_meant={meant[0]}" if meant else "")
    for key in settings.explicit:
        if broker_setting(key).is_inert:
            _log.warning("setting has no effect here key=%s", key)
    return settings


def parse_changes(pairs: Iterable[str]) -> dict[str, str]:
    """`key=value` arguments as a dict; raises ConfigError."""
    changes = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise ConfigError("--set", pair, "must look like key=value")
        changes[key.strip()] = value.strip()
    return changes
