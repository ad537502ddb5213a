"""Changing a topic's overrides: which values may stand there, and how they are written.

Runs in: the controller process of whichever node was asked; unlike topics, overrides may be written by any broker. A write
is one transaction that expects the overrides as they were read:

    check   /brokers/topics/T                  the topic is still there
    set     /config/topics/T                   all overrides of the topic
    create  /config/changes/config_change_N    notifies every broker to read them again

Source: Kafka `ZkAdminManager.alterConfigs`, `AdminZkClient.changeTopicConfig`, `ZkNodeChangeNotificationListener` (purge).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.errors import ConfigError, ErrorCode, KafkaError
from headrace.limits import CONFIG_PURGES_MAX, CONFIG_VALUE_LENGTH_MAX, CONFIG_WRITE_TRIES_MAX
from headrace.settings import (
    DYNAMIC_KEYS,
    TOPIC_SETTINGS,
    Kind,
    Settings,
    broker_setting,
    check_topic_value,
    topic_values,
)

COMPARED_KEYS = ("min.compaction.lag.ms", "max.compaction.lag.ms")
CHANGE_LIFETIME_MS = 15 * 60_000  # Kafka's
SHOWN_CHARACTERS = 20  # of a value in a message

_log = logging.getLogger(__name__)


class Operation(IntEnum):
    """What IncrementalAlterConfigs does with a key; Kafka's `AlterConfigOp.OpType`."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


Check = Callable[[dict[str, str | None]], dict[str, str]]  # of keys and values, raises KafkaError


def check_overrides(overrides: Mapping[str, str], settings: Settings) -> None:
    """Compare a topic's settings with one another, and with what it inherits; each is valid by itself.

    raises   KafkaError INVALID_CONFIG, as Kafka's `LogConfig.validateValues`
    """
    values = topic_values(settings, {key: overrides[key] for key in COMPARED_KEYS if key in overrides})
    least_ms, most_ms = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if least_ms > most_ms:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"invalid value {least_ms} for min.compaction.lag.ms: above max.compaction.lag.ms, which is {most_ms}",
        )


def check_configs(configs: dict[str, str | None]) -> dict[str, str]:
    """The overrides without nulls.

    raises   KafkaError INVALID_CONFIG; for an unknown key it begins as Kafka's `LogConfig.validateNames` words it, which clients look for
    """
    kept = {}
    for key, value in configs.items():
        if value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {key}")
        if key not in TOPIC_SETTINGS:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {key}, with value {_short(value)!r}"
            )
        try:
            if len(value) > CONFIG_VALUE_LENGTH_MAX:
                raise ConfigError(key, _short(value), f"{CONFIG_VALUE_LENGTH_MAX} characters at most")
            check_topic_value(key, value)
        except ConfigError as failure:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(failure)) from None
        kept[key] = value
    return kept


def _short(value: str) -> str:
    return value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}..."


def replaced(wanted: Sequence[tuple[str, str | None]], check: Check = check_configs) -> dict[str, str]:
    """Replace all overrides.

    raises   KafkaError INVALID_REQUEST for a key that appears twice or a null, INVALID_CONFIG for a key or value that can't be
    """
    _check_keys([key for key, _value in wanted])
    for key, value in wanted:
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key}: null is not a valid value")
    return check(dict(wanted))


def changed(
    current: Mapping[str, str],
    changes: Sequence[tuple[str, int, str | None]],
    settings: Settings,
    check: Check = check_configs,
) -> dict[str, str]:
    """`current` with (key, operation, value) applied. What is there already is not looked at: another broker may know more keys.

    raises   KafkaError INVALID_REQUEST for a key that appears twice, an operation that is none, or a null;
             INVALID_CONFIG for a key or value that can't be, and for APPEND and SUBTRACT of a key that is no list
    """
    _check_keys([key for key, _operation, _value in changes])
    overrides = dict(current)
    for key, code, value in changes:
        try:
            operation = Operation(code)
        except ValueError:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key}: operation {code} is not within 0 to 3") from None
        if operation is Operation.DELETE:
            overrides.pop(key, None)  # Kafka refuses no key here, not even one that it doesn't know
            continue
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key}: null is not a valid value")
        if operation is not Operation.SET:
            value = _edited(key, operation, value, overrides, settings)
        overrides.update(check({key: value}))
    return overrides


async def alter(
    zk: ZkSession,
    path: str,
    change: Callable[[dict[str, str]], dict[str, str]],
    is_trial: bool,
    owner_path: str | None = None,
) -> dict[str, str]:
    """Write what `change` makes of the node `path` below /config; nothing where it says the same, or on a trial.

    owner_path   of the node that has to be there still: the topic's

    returns   the overrides as they are now (or would be)
    raises    KafkaError, from `change`; ZkConflict, where others write all the time or the topic has gone; ZkLost
    """
    for tries_left in range(CONFIG_WRITE_TRIES_MAX - 1, -1, -1):
        node = await zk.get(path)
        current = znodes.decode_config(path, node.data) if node else {}
        wanted = change(current)
        if is_trial or wanted == current:
            return wanted
        transaction = Transaction()
        if owner_path is not None:
            transaction.check(owner_path, -1)
        if node is None:
            transaction.create(path, znodes.encode_config(wanted))
        else:
            transaction.set(path, znodes.encode_config(wanted), node.version)
        transaction.create(znodes.CONFIG_CHANGE_PREFIX, znodes.encode_config_change(path), is_sequential=True)
        try:
            await zk.commit(transaction)
            return wanted
        except ZkConflict as conflict:
            if conflict.path != path or not tries_left:
                raise
    raise AssertionError("unreachable")


async def purge(zk: ZkSession) -> int:
    """Remove notifications that every broker has had time to see; returns how many. Failures wait for the next call.

    Their age counts from the newest of them, by ZooKeeper's clock: this node's own date may have been set.
    """
    try:
        names = await zk.children(znodes.CONFIG_CHANGES)  # numbered: the oldest first
        paths = [f"{znodes.CONFIG_CHANGES}/{name}" for name in [*names[:CONFIG_PURGES_MAX], *names[-1:]]]
        nodes = await zk.get_many(paths)
        now_ms = max((node.created_ms for node in nodes if node is not None), default=0)
        old = [
            path
            for path, node in zip(paths, nodes, strict=True)
            if node is not None and node.created_ms < now_ms - CHANGE_LIFETIME_MS
        ]
        for path in old:
            await zk.delete(path)
        return len(old)
    except ZkError as failure:
        _log.debug("config changes not purged reason=%s", failure)
        return 0


def _check_keys(keys: Sequence[str]) -> None:
    twice = sorted(key for key, count in Counter(keys).items() if count > 1)
    if twice:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"listed more than once: {', '.join(twice)}")


def _edited(key: str, operation: Operation, value: str, overrides: Mapping[str, str], settings: Settings) -> str:
    """A list with elements added or taken out; it starts from what holds now."""
    broker_key = key if key in DYNAMIC_KEYS else TOPIC_SETTINGS.get(key)
    if broker_key is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown config name: {key}, with value {_short(value)!r}")
    if broker_setting(broker_key).kind is not Kind.LIST:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{key} is not a list: {operation.name.lower()} does not apply")
    inherited = settings.text(broker_key) or ""
    elements = _elements(overrides.get(key, inherited))
    named = _elements(value)
    if operation is Operation.APPEND:
        elements += [element for element in named if element not in elements]
    else:
        elements = [element for element in elements if element not in named]
    return ",".join(elements)


def _elements(text: str) -> list[str]:
    return [element.strip() for element in text.split(",") if element.strip()]


def number_of(name: str) -> int:
    """Of a notification; those that have none count as new."""
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() and digits.isascii() else 1 << 62


def last_number(names: Sequence[str]) -> int:
    """The highest number of all notifications, -1 where none has one."""
    return max((number for number in map(number_of, names) if number < 1 << 62), default=-1)
