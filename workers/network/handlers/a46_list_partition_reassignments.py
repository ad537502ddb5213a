"""ListPartitionReassignments (key 46), v0: none, since none can be begun (`a45_alter_partition_reassignments.py`).

Source: Kafka `KafkaApis.handleListPartitionReassignmentsRequest`; KIP-455.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Of the active controller; another node says NOT_CONTROLLER, as in Kafka."""
    decode_request(ApiKey.LIST_PARTITION_REASSIGNMENTS, exchange.api_version, body)
    is_active = context.view.controller_id == context.node_id
    response = messages.ListPartitionReassignmentsResponse(
        error_code=int(ErrorCode.NONE if is_active else ErrorCode.NOT_CONTROLLER), error_message=None, topics=[]
    )
    exchange.answer_bytes(encode_response(ApiKey.LIST_PARTITION_REASSIGNMENTS, exchange.api_version, response))
