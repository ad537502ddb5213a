"""InitProducerId (key 22), v0 to v4: the controller process decides and answers.

Work: `controller/admin/a22_init_producer_id.py`.
Source: Kafka `KafkaApis.handleInitProducerIdRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
