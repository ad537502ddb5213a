"""CreateTopics (key 19), v0 to v6: answered when the partitions hosted here are being served, or the timeout passed.

Source: Kafka `ZkAdminManager.createTopics`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.controller.office import Office
from headrace.controller.topic_creation import check_assignment, check_configs, check_name, create, place
from headrace.controller.waiting import Waiting
from headrace.controller.zk import ZkError
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.settings import format_value, topic_values

VERSION_OF_CONFIGS = 5
SOURCE_TOPIC = 1
SOURCE_DEFAULT = 5

_Result = messages.CreateTopicsResponse.CreatableTopicResult
_Config = messages.CreateTopicsResponse.CreatableTopicConfigs


def handle(office: Office, version: int, body: memoryview) -> Waiting:
    """Create what can be created, one result a topic."""
    request = decode_request(ApiKey.CREATE_TOPICS, version, body)
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, Any] = {}
    names = []
    for topic in request.topics:
        if topic.name in results:
            continue
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} stands {counts[topic.name]} times")
            office.check_active()
            results[topic.name] = _create_one(office, topic, request.validate_only)
            if not request.validate_only:
                names.append(topic.name)
        except KafkaError as failure:
            results[topic.name] = _Result(
                name=topic.name,
                error_code=int(failure.code),
                error_message=failure.message or None,
                configs=None,
            )
        except ZkError as failure:
            results[topic.name] = _Result(
                name=topic.name,
                error_code=int(ErrorCode.REQUEST_TIMED_OUT),
                error_message=f"ZooKeeper: {failure}",
                configs=None,
            )
    if names:
        office.publish()

    def respond(is_done: bool) -> bytes:
        if not is_done:
            for name in names:
                results[name] = results[name]._replace(
                    error_code=int(ErrorCode.REQUEST_TIMED_OUT), error_message="created, not yet served"
                )
        return encode_response(
            ApiKey.CREATE_TOPICS, version, messages.CreateTopicsResponse(topics=list(results.values()))
        )

    return office.wait_served(names, request.timeout_ms, respond)


def _create_one(office: Office, topic: Any, validate_only: bool) -> Any:
    cluster = office.cluster
    check_name(topic.name, cluster.topics)
    configs = check_configs({config.name: config.value for config in topic.configs})
    if topic.assignments:
        if topic.num_partitions != -1 or topic.replication_factor != -1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "an assignment goes with num_partitions -1 and replication_factor -1 only",
            )
        wanted = {row.partition_index: list(row.broker_ids) for row in topic.assignments}
        replicas = check_assignment(wanted, cluster.live())
    else:
        replicas = place(cluster, office.settings, topic.num_partitions, topic.replication_factor, office.chance)
    if not validate_only:
        create(office.zk, office.election, cluster, topic.name, replicas, configs)
    values = topic_values(office.settings, configs)
    return _Result(
        name=topic.name,
        error_code=0,
        error_message=None,
        num_partitions=len(replicas),
        replication_factor=len(replicas[0]),
        configs=[
            _Config(
                name=key,
                value=format_value(value),
                read_only=False,
                config_source=SOURCE_TOPIC if key in configs else SOURCE_DEFAULT,
                is_sensitive=False,
            )
            for key, value in sorted(values.items())
        ],
    )
