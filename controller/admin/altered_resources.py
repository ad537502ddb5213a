"""What AlterConfigs and IncrementalAlterConfigs have in common: resources one by one, topics alone.

Runs in: the controller process of the node that was asked, active or not.

Source: Kafka `ConfigAdminManager.preprocess`, `ZkAdminManager.alterConfigs`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from headrace.controller.admin.failures import answer_to
from headrace.controller.office import Office
from headrace.controller.topic_configs import alter
from headrace.errors import ErrorCode, HeadraceError, KafkaError

RESOURCE_TOPIC = 2
RESOURCE_BROKER = 4

# (a resource of the request, the overrides as they are) -> the overrides as they shall be
Change = Callable[[Any, dict[str, str]], dict[str, str]]


def alter_all(office: Office, request: Any, change: Change) -> list[tuple[Any, ErrorCode, str | None]]:
    """(resource, error, message) of each; those without an error are written, unless the request only asks whether they could be."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    results: list[tuple[Any, ErrorCode, str | None]] = []
    check_time = office.time_limit()
    for resource in request.resources:
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.resource_name} stands more than once")
            check_time()
            office.check_loaded()
            _alter_one(office, resource, change, request.validate_only)
            results.append((resource, ErrorCode.NONE, None))
        except HeadraceError as failure:
            results.append((resource, *answer_to(failure)))
    if any(error is ErrorCode.NONE for _resource, error, _message in results) and not request.validate_only:
        office.overrides_written()
    return results


def _alter_one(office: Office, resource: Any, change: Change, is_trial: bool) -> None:
    name = resource.resource_name
    if resource.resource_type == RESOURCE_BROKER:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"settings of broker {name or '(all)'} can't be changed while it runs: change its server.properties, start it anew",
        )
    if resource.resource_type != RESOURCE_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"resource type {resource.resource_type} has no configuration here")
    topic = office.cluster.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")

    def checked(current: dict[str, str]) -> dict[str, str]:
        wanted = change(resource, current)
        growth = len(json.dumps(wanted)) - len(json.dumps(current))
        if growth > 0 and not is_trial and not office.cluster.reserve(growth):
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, f"node {office.cluster.node_id} has no room for more in its view"
            )
        return wanted

    wanted = alter(office.zk, name, checked, is_trial)
    if not is_trial:
        topic.configs = wanted
