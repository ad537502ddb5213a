"""TxnOffsetCommit (key 28), v0 to v3: offsets of a group that count when the producer's transaction is committed.

Work: `partition/coordination/group_requests.py`, then `coordinators/group/commits.py`.
Source: Kafka `KafkaApis.handleTxnOffsetCommitRequest`.
"""

from __future__ import annotations

from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import forward_to_group


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the owner of the group. raises BadFrame"""
    request = decode_request(ApiKey.TXN_OFFSET_COMMIT, exchange.api_version, body)
    forward_to_group(context, exchange, body, request.group_id)
