"""UpdateMetadata (key 6), v0 to v8, from brokers: the controller process decides and answers.

Work: `controller/admin/a06_update_metadata.py`.
Source: Kafka `KafkaApis.handleUpdateMetadataRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller, where a broker may have sent it."""
    context.broker_requests.forward(exchange, body)
