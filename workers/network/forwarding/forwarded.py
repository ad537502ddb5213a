"""Requests that another process of the node answers, and that are not decoded here: a row for each API.

    OF_CONTROLLER   the controller process, for any client: `controller/admin/aNN_NAME.py`
    OF_BROKERS      the controller process, for registered brokers alone (`broker_requests.py`): the same files
    OF_GROUPS       the partition worker that owns the group, whose id the request begins with: `partition/coordination/group_requests.py`

Runs in: a network worker. APIs that need more than this have a file in `handlers/`.

Source: Kafka `KafkaApis.handle`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.protocol.apis import ApiKey
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import first_group_id, forward_to_group

OF_CONTROLLER: Final = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
)
OF_BROKERS: Final = (
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
)
OF_GROUPS: Final = (ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.SYNC_GROUP, ApiKey.OFFSET_DELETE)


def to_controller(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward a client's request to the controller process."""
    context.forward_to_controller(exchange, body)


def of_broker(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward a request to the controller process, where a broker may have sent it."""
    context.broker_requests.forward(exchange, body)


def to_group(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward a request to the owner of its group. raises BadFrame"""
    forward_to_group(context, exchange, body, first_group_id(exchange, body))


FORWARDED: Final[dict[int, Callable[[Context, Exchange, memoryview], None]]] = {
    **dict.fromkeys(OF_CONTROLLER, to_controller),
    **dict.fromkeys(OF_BROKERS, of_broker),
    **dict.fromkeys(OF_GROUPS, to_group),
}
