"""ListPartitionReassignments (key 46), v0: the controller process decides and answers.

Work: `controller/admin/a46_list_partition_reassignments.py`.
Source: Kafka `KafkaApis.handleListPartitionReassignmentsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
