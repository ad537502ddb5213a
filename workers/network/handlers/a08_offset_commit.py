"""OffsetCommit (key 8), v0 to v8: the owner of the group answers; v0 goes to ZooKeeper, by the controller process.

Source: Kafka `KafkaApis.handleOffsetCommitRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.group_owners import first_group_id, forward_to_group

VERSION_OF_ZOOKEEPER = 0


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Hand the request on as it came."""
    if exchange.api_version == VERSION_OF_ZOOKEEPER:
        context.forward_to_controller(exchange, body)
    else:
        forward_to_group(context, exchange, body, first_group_id(exchange, body))
