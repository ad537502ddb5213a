"""JoinGroup (key 11), v0 to v9: the owner of the group answers, when the rebalance has come that far.

The request does not say who sent it; member ids and descriptions do, so that goes along.

Work: `partition/coordination/group_requests.py`, then `coordinators/group/joining.py`.
Source: Kafka `KafkaApis.handleJoinGroupRequest`.
"""

from __future__ import annotations

from headrace.limits import CLIENT_ID_LENGTH_MAX
from headrace.shm.messages import CLIENT_HEADER
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import first_group_id, forward_to_group


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward the request, after its client's id and host."""
    connection = exchange.connection
    client_id = (connection.client_id or "")[:CLIENT_ID_LENGTH_MAX].encode("utf-8", "replace")
    host = f"/{connection.peer.rpartition(':')[0]}".encode()
    envelope = CLIENT_HEADER.pack(len(client_id), len(host)) + client_id + host
    forward_to_group(context, exchange, envelope + bytes(body), first_group_id(exchange, body))
