"""A node's settings from its `server.properties` and its command line.

Runs in: the commands that start a node, before anything else happens, and the supervisor at a reload. Bad values are
refused with key, value and reason, and so is a file without broker.id; unknown keys warn, because a Kafka file may hold
many that mean nothing to us.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.errors import ConfigError
from headrace.limits import KEY_SIMILARITY_MIN
from headrace.properties import read_properties_file
from headrace.refused_settings import is_quota
from headrace.settings import Settings, broker_setting

_log = logging.getLogger(__name__)


def load_settings(path: Path, changes: Mapping[str, str]) -> Settings:
    """Settings of a file, with `changes` on top.

    raises   ConfigError, where the file can't be read or a value can't be used
    """
    try:
        found = read_properties_file(path)
    except OSError as failure:
        raise ConfigError("FILE", str(path), failure.strerror or str(failure)) from None
    except ValueError as failure:
        raise ConfigError("FILE", str(path), f"is not a valid properties file: {failure}") from None
    _judge_characters(found)
    given = {**found, **changes}
    if not given.get("broker.id", "").strip():
        raise ConfigError("broker.id", "", f"must be set in {path}: it differs between the nodes of a cluster")
    return checked(given)


def checked(given: Mapping[str, str]) -> Settings:
    """Settings of pairs, with a warning for each unknown key."""
    settings = Settings(given)
    for key in settings.unknown:
        if is_quota(key):
            _log.warning("quota ignored, quotas are not supported yet key=%s", key)
            continue
        meant = difflib.get_close_matches(key, settings, n=1, cutoff=KEY_SIMILARITY_MIN)
        _log.warning("unknown setting ignored key=%s%s", key, f" perhaps_meant={meant[0]}" if meant else "")
    for key in settings.explicit:
        if broker_setting(key).has_no_effect:
            _log.warning("setting has no effect in Headrace key=%s", key)
    return settings


def _judge_characters(found: Mapping[str, str]) -> None:
    """Such a file is ISO-8859-1, to Java and to us; an editor may have written UTF-8 into it.

    raises   ConfigError, for what no UTF-8 text can hold
    """
    for key, text in found.items():
        if any("\ud800" <= character <= "\udfff" for character in key + text):
            raise ConfigError(ascii(key), ascii(text), "unpaired surrogate")
        if not text.isascii():
            _log.warning(
                "setting is not ASCII, read as ISO-8859-1 (write \\u00e4 to be unambiguous) key=%s value=%s", key, text
            )


def parse_changes(pairs: Iterable[str]) -> dict[str, str]:
    """`key=value` arguments as a dict; raises ConfigError."""
    changes = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise ConfigError("--set", pair, "must have the form key=value")
        changes[key.strip()] = value.strip()
    return changes
