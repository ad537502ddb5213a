"""CreatePartitions (key 37), v0 to v3: answered when the new partitions hosted here are being served, or the timeout passed.

Runs in: the controller process. One result a topic: the topics of a request succeed or fail by themselves.

Source: Kafka `ZkAdminManager.createPartitions`, `KafkaApis.handleCreatePartitionsRequest`.
"""

from __future__ import annotations

from collections import Counter

from headrace.controller.admin.failures import answer_to
from headrace.controller.office import Office
from headrace.controller.topic_creation import check_total
from headrace.controller.topic_growth import grow, placed
from headrace.controller.waiting import Waiting
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import PARTITIONS_PER_TOPIC_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult


def handle(office: Office, version: int, body: memoryview) -> Waiting:
    """Add what can be added."""
    request = decode_request(ApiKey.CREATE_PARTITIONS, version, body)
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, tuple[ErrorCode, str | None]] = {}
    grown = []
    check_time = office.time_limit()
    asked = 0
    for topic in request.topics:
        if topic.name in results:
            continue
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} stands {counts[topic.name]} times")
            office.check_active()
            check_time()
            if 0 < topic.count <= PARTITIONS_PER_TOPIC_MAX and topic.name in office.cluster.topics:
                check_total(asked + topic.count)
                asked += topic.count
            _grow_one(office, topic, request.validate_only)
            results[topic.name] = (ErrorCode.NONE, None)
            if not request.validate_only:
                grown.append(topic.name)
        except HeadraceError as failure:
            results[topic.name] = answer_to(failure)
    if grown:
        office.publish()

    def respond(is_done: bool) -> bytes:
        if not is_done:
            results.update(dict.fromkeys(grown, (ErrorCode.REQUEST_TIMED_OUT, "added, not yet served")))
        rows = [_Result(name, int(code), text) for name, (code, text) in results.items()]
        return encode_response(ApiKey.CREATE_PARTITIONS, version, messages.CreatePartitionsResponse(results=rows))

    return office.wait_served(grown, request.timeout_ms, respond)


def _grow_one(office: Office, wanted: messages.CreatePartitionsRequest.CreatePartitionsTopic, is_trial: bool) -> None:
    cluster = office.cluster
    if wanted.name in office.deletions:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {wanted.name} is being deleted")
    topic = cluster.topics.get(wanted.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {wanted.name}")
    rows = None if wanted.assignments is None else [row.broker_ids for row in wanted.assignments]
    replicas = placed(topic, wanted.count, rows, cluster.live())
    if not is_trial:
        grow(office.zk, office.election, cluster, topic, replicas)
