"""AlterPartitionReassignments (key 45), v0: the controller process decides and answers.

Work: `controller/admin/a45_alter_partition_reassignments.py`.
Source: Kafka `KafkaApis.handleAlterPartitionReassignmentsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
