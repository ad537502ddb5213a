"""ElectLeaders (key 43), v0 to v2, from the cluster view: a partition whose preferred replica leads needs no election.

Replicas on other nodes are not fed yet, so no other leader can be elected either: a partition that has lost its
leader, or is led by another replica than the first, is told why. Only the active controller answers, as in Kafka.

Source: Kafka `KafkaApis.handleElectLeaders`, `KafkaController.processReplicaLeaderElection`; KIP-460.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.cluster_view import PartitionView
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange

PREFERRED = 0
UNCLEAN = 1

_Result = messages.ElectLeadersResponse.ReplicaElectionResult
_Partition = messages.ElectLeadersResponse.PartitionResult
_Failure = tuple[ErrorCode, str]


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """One result a partition, once however often it is named; of all partitions, only those that need an election."""
    request = decode_request(ApiKey.ELECT_LEADERS, exchange.api_version, body)
    failure = _refusal(context, request)
    if request.topic_partitions is None:
        asked = _led_by_none_or_another(context, request.election_type) if failure is None else {}
    else:
        asked = {}
        for topic in request.topic_partitions:
            asked.setdefault(topic.topic, {}).update(dict.fromkeys(topic.partitions))
    results = []
    for name, indexes in asked.items():
        rows = []
        for index in indexes:
            error, text = failure or _judge(context, request.election_type, name, index)
            rows.append(_Partition(partition_id=index, error_code=int(error), error_message=text))
        results.append(_Result(topic=name, partition_result=rows))
    response = messages.ElectLeadersResponse(
        error_code=int(failure[0] if failure else ErrorCode.NONE), replica_election_results=results
    )
    exchange.answer_bytes(encode_response(ApiKey.ELECT_LEADERS, exchange.api_version, response))


def _refusal(context: Context, request: messages.ElectLeadersRequest) -> _Failure | None:
    """What holds for the whole request."""
    controller = context.view.controller_id
    if controller != context.node_id:
        return ErrorCode.NOT_CONTROLLER, f"the active controller is node {controller}, ask there"
    if request.election_type not in (PREFERRED, UNCLEAN):
        return ErrorCode.INVALID_REQUEST, f"election type {request.election_type} is neither 0 nor 1"
    return None


def _led_by_none_or_another(context: Context, election_type: int) -> dict[str, dict[int, None]]:
    found: dict[str, dict[int, None]] = {}
    for topic in context.view.topics.values():
        for partition in topic.partitions:
            if not _is_well_led(election_type, partition):
                found.setdefault(topic.name, {})[partition.index] = None
    return found


def _is_well_led(election_type: int, partition: PartitionView) -> bool:
    if election_type == UNCLEAN:
        return partition.leader >= 0
    return partition.leader == partition.replicas[0]


def _judge(context: Context, election_type: int, name: str, index: int) -> _Failure:
    topic = context.view.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."
    partition = topic.partitions[index]
    if _is_well_led(election_type, partition):
        return ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
    if election_type == UNCLEAN:
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, f"no replica of {list(partition.replicas)} is alive"
    return (
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        f"replica {partition.replicas[0]} can't lead: replicas on other nodes are not fed yet",
    )
