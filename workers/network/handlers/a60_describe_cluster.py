"""DescribeCluster (key 60), v0 to v1, from the cluster view.

Source: Kafka `KafkaApis.handleDescribeCluster`; KIP-430, KIP-700, KIP-919 for endpoint types.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.authorized_operations import CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

ENDPOINT_BROKERS: Final = 1


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Brokers, cluster id, controller."""
    request = decode_request(ApiKey.DESCRIBE_CLUSTER, exchange.api_version, body)
    if request.endpoint_type != ENDPOINT_BROKERS:
        response = messages.DescribeClusterResponse(
            error_code=int(ErrorCode.MISMATCHED_ENDPOINT_TYPE),
            error_message=f"endpoint type {request.endpoint_type} requested, but this is a broker",
        )
    else:
        broker = messages.DescribeClusterResponse.DescribeClusterBroker
        response = messages.DescribeClusterResponse(
            cluster_id=context.view.cluster_id,
            controller_id=context.view.controller_id,
            brokers=[
                broker(broker_id=known.node_id, host=known.host, port=known.port, rack=known.rack)
                for known in context.brokers()
            ],
            cluster_authorized_operations=(
                CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else OPERATIONS_NOT_ASKED
            ),
        )
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_CLUSTER, exchange.api_version, response))
