"""LeaveGroup (key 13), v0 to v5: the owner of the group answers.

Work: `partition/group_requests.py`, then `coordinators/membership.py`.
Source: Kafka `KafkaApis.handleLeaveGroupRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.group_owners import first_group_id, forward_to_group


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the owner of the group."""
    forward_to_group(context, exchange, body, first_group_id(exchange, body))
