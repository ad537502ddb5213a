"""Metadata (key 3), v0 to v9, from the cluster view; unknown topics are created where that is allowed.

A topic that is to be created holds the response until the controller has made it (some milliseconds), so that
the client sees a leader at once instead of LEADER_NOT_AVAILABLE and a retry.

Source: Kafka `KafkaApis.handleTopicMetadataRequest`, `AutoTopicCreationManager`.
"""

from __future__ import annotations

from typing import Any

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_request, encode_response
from headrace.shm.cluster_view import TopicView
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.topic_names import is_valid_topic_name

CREATE_VERSION = 4  # the version of CreateTopics that the node speaks to its own controller
CREATE_TIMEOUT_MS = 10_000
CREATED_AT_ONCE_MAX = 500  # topics of one request; the others are LEADER_NOT_AVAILABLE until the client asks again
ALL_TOPICS_IS_EMPTY_VERSION = 0

_Topic = messages.MetadataResponse.MetadataResponseTopic
_Partition = messages.MetadataResponse.MetadataResponsePartition
_Broker = messages.MetadataResponse.MetadataResponseBroker


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from the view, after a creation where one is due."""
    version = exchange.api_version
    request = decode_request(ApiKey.METADATA, version, body)
    if request.topics is None or (version == ALL_TOPICS_IS_EMPTY_VERSION and not request.topics):
        _respond(context, exchange, list(context.view.topics), {})
        return
    names = list(dict.fromkeys(topic.name for topic in request.topics))
    missing = [name for name in names if name not in context.view.topics and is_valid_topic_name(name)]
    may_create = request.allow_auto_topic_creation and context.settings["auto.create.topics.enable"]
    if not missing or not may_create:
        _respond(context, exchange, names, {})
        return

    def created(response: memoryview | None) -> None:
        context.follow_view()
        errors = dict.fromkeys(missing, int(ErrorCode.LEADER_NOT_AVAILABLE))
        if response is not None:
            answer = decode_response(ApiKey.CREATE_TOPICS, CREATE_VERSION, response)
            errors.update({topic.name: topic.error_code for topic in answer.topics})
        _respond(context, exchange, names, errors)

    context.admin.ask(
        exchange, ApiKey.CREATE_TOPICS, CREATE_VERSION, _creation_of(missing[:CREATED_AT_ONCE_MAX]), created
    )


def _creation_of(names: list[str]) -> bytes:
    topic = messages.CreateTopicsRequest.CreatableTopic
    return encode_request(
        ApiKey.CREATE_TOPICS,
        CREATE_VERSION,
        messages.CreateTopicsRequest(
            topics=[topic(name=name, num_partitions=-1, replication_factor=-1) for name in names],
            timeout_ms=CREATE_TIMEOUT_MS,
        ),
    )


def _respond(context: Context, exchange: Exchange, names: list[str], errors: dict[str, int]) -> None:
    view = context.view
    topics = []
    for name in names:
        topic = view.topics.get(name)
        if topic is not None:
            topics.append(_known(topic))
        elif not is_valid_topic_name(name):
            topics.append(_Topic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, name=name, partitions=[]))
        else:
            error = errors.get(name, 0)
            if error in (
                ErrorCode.REQUEST_TIMED_OUT,
                ErrorCode.NOT_CONTROLLER,
            ):  # no time for it yet, or ZooKeeper is away
                error = ErrorCode.LEADER_NOT_AVAILABLE
            elif error in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
                error = ErrorCode.LEADER_NOT_AVAILABLE if name in errors else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            topics.append(_Topic(error_code=int(error), name=name, partitions=[]))
    brokers = [
        _Broker(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in context.brokers()
    ]
    response = messages.MetadataResponse(
        brokers=brokers, cluster_id=view.cluster_id, controller_id=view.controller_id, topics=topics
    )
    exchange.answer_bytes(encode_response(ApiKey.METADATA, exchange.api_version, response))


def _known(topic: TopicView) -> Any:
    partitions = [
        _Partition(
            error_code=int(ErrorCode.LEADER_NOT_AVAILABLE if partition.leader < 0 else ErrorCode.NONE),
            partition_index=partition.index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            offline_replicas=list(partition.offline),
        )
        for partition in topic.partitions
    ]
    return _Topic(error_code=0, name=topic.name, is_internal=topic.internal, partitions=partitions)
