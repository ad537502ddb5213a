"""Metadata (key 3), v0 to v12, from the cluster view; unknown topics are created where that is allowed.

A topic that is to be created holds the response until the controller has made it (some milliseconds), so that
the client sees a leader at once instead of LEADER_NOT_AVAILABLE and a retry. From v12 on topics may be asked for by
id; where one is, names in the same request are passed over, as in Kafka.

Source: Kafka `KafkaApis.handleTopicMetadataRequest`, `AutoTopicCreationManager`; KIP-516 for ids.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import CREATED_AT_ONCE_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_response
from headrace.protocol.messages import ZERO_UUID
from headrace.shm.cluster_view import TopicView
from headrace.workers.network.authorized_operations import (
    CLUSTER_OPERATIONS,
    OPERATIONS_NOT_ASKED,
    TOPIC_OPERATIONS,
)
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.topic_creations import CREATE_TIMEOUT_MS, CREATE_VERSION
from headrace.workers.network.topic_names import is_valid_topic_name

ALL_TOPICS_IS_EMPTY_VERSION: Final = 0
VERSION_OF_IDS_ASKED: Final = 12

_Topic = messages.MetadataResponse.MetadataResponseTopic
_Partition = messages.MetadataResponse.MetadataResponsePartition
_Broker = messages.MetadataResponse.MetadataResponseBroker


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from the view, after a creation where one is due."""
    version = exchange.api_version
    request = decode_request(ApiKey.METADATA, version, body)
    if request.topics is None or (version == ALL_TOPICS_IS_EMPTY_VERSION and not request.topics):
        _respond(context, exchange, request, [_known(topic) for topic in context.view.topics.values()])
        return
    ids = list(dict.fromkeys(topic.topic_id for topic in request.topics if topic.topic_id != ZERO_UUID))
    is_nameless = any(topic.name is None and topic.topic_id == ZERO_UUID for topic in request.topics)
    if is_nameless or (ids and version < VERSION_OF_IDS_ASKED):
        _refuse(exchange, request)
        return
    if ids:
        _respond(context, exchange, request, [_by_id(context, topic_id) for topic_id in ids])
        return
    names = list(dict.fromkeys(topic.name for topic in request.topics if topic.name is not None))
    missing = [name for name in names if name not in context.view.topics and is_valid_topic_name(name)]
    may_create = request.allow_auto_topic_creation and context.settings["auto.create.topics.enable"]
    if not missing or not may_create:
        _respond(context, exchange, request, [_by_name(context, name, {}) for name in names])
        return

    def created(response: memoryview | None) -> None:
        context.follow_view()
        errors = dict.fromkeys(missing, int(ErrorCode.LEADER_NOT_AVAILABLE))
        if response is not None:
            answer = decode_response(ApiKey.CREATE_TOPICS, CREATE_VERSION, response)
            errors.update({topic.name: topic.error_code for topic in answer.topics})
        _respond(context, exchange, request, [_by_name(context, name, errors) for name in names])

    context.creations.ask(context.view, exchange, _creation_of(missing[:CREATED_AT_ONCE_MAX]), created)


def _creation_of(names: list[str]) -> messages.CreateTopicsRequest:
    topic = messages.CreateTopicsRequest.CreatableTopic
    return messages.CreateTopicsRequest(
        topics=[topic(name=name, num_partitions=-1, replication_factor=-1) for name in names],
        timeout_ms=CREATE_TIMEOUT_MS,
    )


def _respond(context: Context, exchange: Exchange, request: messages.MetadataRequest, topics: list[_Topic]) -> None:
    view = context.view
    brokers = [
        _Broker(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in context.brokers()
    ]
    if request.include_topic_authorized_operations:
        topics = [
            topic if topic.error_code else topic._replace(topic_authorized_operations=TOPIC_OPERATIONS)
            for topic in topics
        ]
    response = messages.MetadataResponse(
        brokers=brokers,
        cluster_id=view.cluster_id,
        controller_id=view.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else OPERATIONS_NOT_ASKED
        ),
    )
    exchange.answer_bytes(encode_response(ApiKey.METADATA, exchange.api_version, response))


def _refuse(exchange: Exchange, request: messages.MetadataRequest) -> None:
    """A topic without a name, or by an id where the version has none: each is answered with the error alone."""
    topics = [
        _Topic(error_code=int(ErrorCode.INVALID_REQUEST), name=topic.name or "", topic_id=topic.topic_id, partitions=[])
        for topic in request.topics or ()
    ]
    response = messages.MetadataResponse(brokers=[], topics=topics)
    exchange.answer_bytes(encode_response(ApiKey.METADATA, exchange.api_version, response))


def _by_id(context: Context, topic_id: bytes) -> _Topic:
    name = context.topic_of_id(topic_id)
    if name is None:
        return _Topic(error_code=int(ErrorCode.UNKNOWN_TOPIC_ID), name=None, topic_id=topic_id, partitions=[])
    return _known(context.view.topics[name])


def _by_name(context: Context, name: str, errors: dict[str, int]) -> _Topic:
    """errors   of the topics that were to be created"""
    topic = context.view.topics.get(name)
    if topic is not None:
        return _known(topic)
    if not is_valid_topic_name(name):
        return _Topic(error_code=int(ErrorCode.INVALID_TOPIC_EXCEPTION), name=name, partitions=[])
    error = errors.get(name, 0)
    if error in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER):  # no time for it yet, or no ZooKeeper
        error = ErrorCode.LEADER_NOT_AVAILABLE
    elif error in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
        error = ErrorCode.LEADER_NOT_AVAILABLE if name in errors else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return _Topic(error_code=int(error), name=name, partitions=[])


def _known(topic: TopicView) -> _Topic:
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
    return _Topic(
        error_code=0,
        name=topic.name,
        topic_id=bytes.fromhex(topic.topic_id) or ZERO_UUID,
        is_internal=topic.internal,
        partitions=partitions,
    )
