"""What AlterConfigs and IncrementalAlterConfigs have in common: resources one by one, topics and brokers.

Runs in: the controller process of the node that was asked, active or not. Of a broker's settings those may change that
topics inherit (`DYNAMIC_KEYS`), for this node or for all: the change is in ZooKeeper, and in the cluster view for
every process. Whatever else stands there, of Kafka's brokers, stays.

Source: Kafka `ConfigAdminManager.preprocess`, `ZkAdminManager.alterConfigs`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.cluster_reader import usable_settings
from headrace.controller.agent.topic_configs import Check, alter, check_configs, check_overrides
from headrace.controller.zookeeper import znodes
from headrace.errors import ConfigError, ErrorCode, HeadraceError, KafkaError, cut
from headrace.settings import DYNAMIC_KEYS, check_dynamic_value

RESOURCE_TOPIC = 2
RESOURCE_BROKER = 4

RESOURCE_BROKER_LOGGER = 8

# (a resource of the request, the overrides as they are, what checks new ones) -> the overrides as they shall be
Change = Callable[[Any, dict[str, str], Check], dict[str, str]]


async def alter_all(context: AdminContext, request: Any, change: Change) -> list[tuple[Any, ErrorCode, str | None]]:
    """(resource, error, message) of each; those without an error are written, unless the request only asks whether they could be."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    results: list[tuple[Any, ErrorCode, str | None]] = []
    check_time = context.time_limit()
    for resource in request.resources:
        await context.tasks.pause()
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.resource_name} appears more than once")
            check_time()
            context.agent.check_loaded()
            await _alter_one(context, resource, change, request.validate_only)
            results.append((resource, ErrorCode.NONE, None))
        except HeadraceError as failure:
            results.append((resource, *answer_to(failure)))
    if any(error is ErrorCode.NONE for _resource, error, _message in results) and not request.validate_only:
        await context.agent.note_overrides_written()
    return results


async def _alter_one(context: AdminContext, resource: Any, change: Change, is_trial: bool) -> None:
    name = resource.resource_name
    if resource.resource_type == RESOURCE_BROKER:
        await _alter_broker(context, resource, change, is_trial)
        return
    if resource.resource_type == RESOURCE_BROKER_LOGGER:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "log levels can't be changed while the node runs: set HEADRACE_LOG_LEVEL and restart it",
        )
    if resource.resource_type != RESOURCE_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"resource type {resource.resource_type} has no configuration")
    topic = context.known.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")

    def checked(current: dict[str, str]) -> dict[str, str]:
        wanted = change(resource, current, check_configs)
        check_overrides(wanted, context.agent.topic_defaults())
        growth = len(json.dumps(wanted)) - len(json.dumps(current))
        if growth > 0 and not is_trial:
            context.agent.room.reserve_bytes(name, growth)
        return wanted

    try:
        wanted = await alter(context.zk, znodes.topic_config_path(name), checked, is_trial, znodes.topic_path(name))
    except HeadraceError:
        context.agent.room.release(name)
        raise
    if not is_trial:
        context.known.set_configs(topic, wanted)


async def _alter_broker(context: AdminContext, resource: Any, change: Change, is_trial: bool) -> None:
    """For this node, or for all of them where the name is empty."""
    cluster = context.known
    name = resource.resource_name
    if name not in ("", str(cluster.node_id)):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"broker {name!r} can't be configured by broker {cluster.node_id}: send the request to that broker",
        )

    def check(configs: dict[str, str | None]) -> dict[str, str]:
        return _checked_settings(context, configs)

    path = znodes.broker_config_path(name or znodes.ALL_BROKERS)
    wanted = await alter(context.zk, path, lambda current: change(resource, current, check), is_trial)
    if is_trial:
        return
    if name:
        cluster.set_settings(cluster.cluster_settings, usable_settings(wanted))
    else:
        cluster.set_settings(usable_settings(wanted), cluster.node_settings)


def _checked_settings(context: AdminContext, configs: dict[str, str | None]) -> dict[str, str]:
    """raises   KafkaError INVALID_REQUEST, which is Kafka's code for them, with the key and the reason"""
    kept: dict[str, str] = {}
    for key, value in configs.items():
        if key not in DYNAMIC_KEYS:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                cut(f"{key} can't be changed while a node runs: set it in server.properties and restart the node"),
            )
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key}: null is not a valid value")
        try:
            check_dynamic_value(key, value)
            context.settings.with_values({key: value})  # pairs with the settings of this node's file
        except ConfigError as failure:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(failure)) from None
        kept[key] = value
    return kept
