"""DescribeConfigs (key 32), v0 to v4: topics from the cluster view, this node from its settings and what
was changed of them while it runs; the loggers of the network worker that answers.

Source: Kafka `ConfigHelper.describeConfigs`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

from headrace.errors import ErrorCode, cut
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.settings import (
    BROKER_SETTINGS,
    DYNAMIC_KEYS,
    TOPIC_SETTINGS,
    Setting,
    broker_setting,
    format_value,
    topic_setting,
    topic_values,
)
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

RESOURCE_TOPIC: Final = 2
RESOURCE_BROKER: Final = 4
RESOURCE_BROKER_LOGGER: Final = 8
SOURCE_TOPIC: Final = 1
SOURCE_BROKER: Final = 2
SOURCE_ALL_BROKERS: Final = 3
SOURCE_STATIC_BROKER: Final = 4
SOURCE_DEFAULT: Final = 5
SOURCE_BROKER_LOGGER: Final = 6
ROOT_LOGGER: Final = "root"

_Resource = messages.DescribeConfigsRequest.DescribeConfigsResource
_Config = messages.DescribeConfigsResponse.DescribeConfigsResourceResult
_Result = messages.DescribeConfigsResponse.DescribeConfigsResult
_Synonym = messages.DescribeConfigsResponse.DescribeConfigsSynonym

# What topics with the same settings of their own answer: a cluster's topics mostly have none
_Shared = dict[frozenset[tuple[str, str]], list[_Config]]


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer for each resource on its own, once where it is named more often."""
    request = decode_request(ApiKey.DESCRIBE_CONFIGS, exchange.api_version, body)
    resources = {(resource.resource_type, resource.resource_name): resource for resource in request.resources}
    of_topics: _Shared = {}
    results = [_describe(context, request, resource, of_topics) for resource in resources.values()]
    response = messages.DescribeConfigsResponse(results=results)
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_CONFIGS, exchange.api_version, response))


def _describe(
    context: Context, request: messages.DescribeConfigsRequest, resource: _Resource, of_topics: _Shared
) -> _Result:
    name = resource.resource_name
    if resource.resource_type == RESOURCE_TOPIC:
        topic = context.view.topics.get(name)
        if topic is None:
            return _refusal(resource, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
        own = frozenset(topic.configs.items())
        if own not in of_topics:
            of_topics[own] = list(
                _topic_configs(context, topic.configs, request.include_synonyms, request.include_documentation)
            )
        configs = of_topics[own]
    elif resource.resource_type == RESOURCE_BROKER:
        if name and name != str(context.node_id):
            return _refusal(resource, ErrorCode.INVALID_REQUEST, _another_broker(context, name))
        describe = _broker_configs if name else _cluster_configs
        configs = list(describe(context, request.include_synonyms, request.include_documentation))
    elif resource.resource_type == RESOURCE_BROKER_LOGGER:
        if name != str(context.node_id):
            return _refusal(resource, ErrorCode.INVALID_REQUEST, _another_broker(context, name))
        configs = list(_loggers())
    else:
        message = f"resource type {resource.resource_type} has no configuration here"
        return _refusal(resource, ErrorCode.INVALID_REQUEST, message)
    if resource.configuration_keys is not None:
        wanted = set(resource.configuration_keys)
        configs = [config for config in configs if config.name in wanted]
    return _Result(
        error_code=0,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=name,
        configs=configs,
    )


def _topic_configs(
    context: Context, overrides: dict[str, str], with_synonyms: bool, with_documentation: bool
) -> Iterator[_Config]:
    values: dict[str, Any] = {**topic_values(context.topic_defaults.settings, overrides)}
    for key in sorted(TOPIC_SETTINGS):
        setting = topic_setting(key)
        broker_synonyms = _broker_synonyms(context, setting)
        synonyms = broker_synonyms
        if key in overrides:
            synonyms = [_Synonym(name=key, value=overrides[key], source=SOURCE_TOPIC), *broker_synonyms]
        yield _Config(
            name=key,
            value=format_value(values[key]),
            read_only=False,
            is_default=key not in overrides,
            config_source=synonyms[0].source if synonyms else SOURCE_DEFAULT,
            is_sensitive=False,
            synonyms=synonyms if with_synonyms else [],
            config_type=setting.kind.value,
            documentation=setting.doc if with_documentation else None,
        )


def _another_broker(context: Context, name: str) -> str:
    return f"node {context.node_id} can't describe broker {name!r}: send the request to that broker"


def _cluster_configs(context: Context, with_synonyms: bool, with_documentation: bool) -> Iterator[_Config]:
    """What was changed for all brokers while they run; nothing else holds for all."""
    for key, value in sorted(context.view.cluster_settings.items()):
        setting = broker_setting(key)
        yield _Config(
            name=key,
            value=value,
            read_only=False,
            is_default=False,
            config_source=SOURCE_ALL_BROKERS,
            is_sensitive=False,
            synonyms=[_Synonym(name=key, value=value, source=SOURCE_ALL_BROKERS)] if with_synonyms else [],
            config_type=setting.kind.value,
            documentation=setting.doc if with_documentation else None,
        )


def _loggers() -> Iterator[_Config]:
    """Every logger with the level that holds for it."""
    root = logging.getLogger()
    found = {ROOT_LOGGER: root.getEffectiveLevel()}
    for name in sorted(logging.root.manager.loggerDict):
        logger = logging.root.manager.loggerDict[name]
        if isinstance(logger, logging.Logger):
            found[name] = logger.getEffectiveLevel()
    for name, level in found.items():
        yield _Config(
            name=name,
            value=logging.getLevelName(level),
            read_only=True,
            is_default=False,
            config_source=SOURCE_BROKER_LOGGER,
            is_sensitive=False,
            synonyms=[],
        )


def _broker_configs(context: Context, with_synonyms: bool, with_documentation: bool) -> Iterator[_Config]:
    current = context.topic_defaults.settings
    for setting in BROKER_SETTINGS:
        synonyms = _broker_synonyms(context, setting)
        yield _Config(
            name=setting.key,
            value=current.text(setting.key),
            read_only=setting.key not in DYNAMIC_KEYS,
            is_default=setting.key not in current.explicit,
            config_source=synonyms[0].source if synonyms else SOURCE_DEFAULT,
            is_sensitive=False,
            synonyms=synonyms if with_synonyms else [],
            config_type=setting.kind.value,
            documentation=setting.doc if with_documentation else None,
        )


def _broker_synonyms(context: Context, setting: Setting) -> list[_Synonym]:
    """Where a broker value comes from, the strongest source first."""
    key = setting.key
    synonyms = []
    if key in context.view.node_settings:
        synonyms.append(_Synonym(name=key, value=context.view.node_settings[key], source=SOURCE_BROKER))
    if key in context.view.cluster_settings:
        synonyms.append(_Synonym(name=key, value=context.view.cluster_settings[key], source=SOURCE_ALL_BROKERS))
    if key in context.settings.explicit:
        synonyms.append(_Synonym(name=key, value=context.settings.explicit[key], source=SOURCE_STATIC_BROKER))
    default = broker_setting(key).default
    if default is not None:
        synonyms.append(_Synonym(name=key, value=default, source=SOURCE_DEFAULT))
    return synonyms


def _refusal(resource: _Resource, error: ErrorCode, message: str) -> _Result:
    return _Result(
        error_code=int(error),
        error_message=cut(message),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )
