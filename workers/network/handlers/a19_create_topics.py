"""CreateTopics (key 19), v0 to v7: the controller process decides and answers.

Work: `controller/admin/a19_create_topics.py`.
Source: Kafka `KafkaApis.handleCreateTopicsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
