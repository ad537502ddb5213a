"""ElectLeaders (key 43), v0 to v2: answered once ZooKeeper has the leaders; of all partitions, only those that need one are elected.

Runs in: the controller process of the active node; another one answers NOT_CONTROLLER, for the request and for each partition.

Source: Kafka `KafkaApis.handleElectLeaders`, `KafkaController.processReplicaLeaderElection`; KIP-183, KIP-460.
"""

from __future__ import annotations

from headrace.controller.active.leaders.preferred_leaders import Election
from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import ErrorCode, HeadraceError, KafkaError, cut
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Response = messages.ElectLeadersResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """One result a partition, once however often it is named."""
    request = decode_request(ApiKey.ELECT_LEADERS, version, body)
    wanted: list[tuple[str, int]] | None = None
    if request.topic_partitions is not None:
        wanted = [(topic.topic, index) for topic in request.topic_partitions for index in topic.partitions]
    code = ErrorCode.NONE
    try:
        context.agent.check_active()
        errors = await context.active.preferred_leaders().elect(wanted, _kind(request.election_type))
    except HeadraceError as failure:
        refusal = KafkaError(*answer_to(failure))
        code, errors = refusal.code, dict.fromkeys(wanted or (), refusal)
    results: dict[str, list[messages.ElectLeadersResponse.PartitionResult]] = {}
    for (name, index), error in errors.items():
        row = _Response.PartitionResult(
            partition_id=index,
            error_code=int(error.code if error is not None else ErrorCode.NONE),
            error_message=cut(error.message) if error is not None else None,
        )
        results.setdefault(name, []).append(row)
    topics = [_Response.ReplicaElectionResult(topic=name, partition_result=rows) for name, rows in results.items()]
    response = _Response(error_code=int(code), replica_election_results=topics)
    return PendingResponse.done(encode_response(ApiKey.ELECT_LEADERS, version, response))


def _kind(election_type: int) -> Election:
    try:
        return Election(election_type)
    except ValueError:
        text = f"election type {election_type} is neither 0 nor 1"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text) from None
