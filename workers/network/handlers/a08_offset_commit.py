"""OffsetCommit (key 8), v0 to v8: the owner of the group answers; v0 goes to ZooKeeper, by the controller process.

Work: `partition/coordination/group_requests.py`, then `coordinators/group/commits.py`.
Source: Kafka `KafkaApis.handleOffsetCommitRequest`.
"""

from __future__ import annotations

from typing import Final

from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import first_group_id, forward_to_group

VERSION_OF_ZOOKEEPER: Final = 0


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the owner of the group."""
    if exchange.api_version == VERSION_OF_ZOOKEEPER:
        context.forward_to_controller(exchange, body)
    else:
        forward_to_group(context, exchange, body, first_group_id(exchange, body))
