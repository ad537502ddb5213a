"""Classes that a config names: `serializer.class`, `partitioner.class`, `event.handler`, `callback.handler`.

A value is an instance, a class, or the dotted name of a class. Kafka's own names (`kafka.serializer.StringEncoder`) stand for ours, so that
a properties file of a Java program can be used as it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from headrace.errors import ConfigError


def instance_of(key: str, value: Any, methods: tuple[str, ...], known: Mapping[str, Any]) -> Any:
    """The object that a setting names.

    methods   what it must have
    known     Kafka's names, and ours for them
    raises    ConfigError, if there is no such class, it can't be made without arguments, or lacks a method
    """
    made = value
    if isinstance(value, str):
        made = known.get(value) or _class_named(key, value)
    if isinstance(made, type):
        try:
            made = made()
        except TypeError as failure:
            raise ConfigError(key, value, f"can't be created without arguments: {failure}") from None
    missing = [name for name in methods if not callable(getattr(made, name, None))]
    if missing:
        raise ConfigError(key, value, f"has no method {missing[0]}")
    return made


def _class_named(key: str, name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as failure:
        raise ConfigError(key, name, f"no such class: {failure}") from None
