"""AllocateProducerIds (key 67), v0, from brokers: the controller process claims a block and answers.

Work: `controller/admin/a67_allocate_producer_ids.py`.
Source: Kafka `KafkaApis.handleAllocateProducerIdsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller, where a broker may have sent it."""
    context.broker_requests.forward(exchange, body)
