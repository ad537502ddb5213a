"""AlterPartition (key 56), v0 to v3, from brokers: the controller process decides and answers.

Work: `controller/admin/a56_alter_partition.py`.
Source: Kafka `KafkaApis.handleAlterPartitionRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller, where a broker may have sent it."""
    context.broker_requests.forward(exchange, body)
