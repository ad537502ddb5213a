"""StopReplica (key 5), v0 to v4, from brokers: the controller process decides and answers.

Work: `controller/admin/a05_stop_replica.py`.
Source: Kafka `KafkaApis.handleStopReplicaRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller, where a broker may have sent it."""
    context.broker_requests.forward(exchange, body)
