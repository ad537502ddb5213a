"""DeleteTopics (key 20), v0 to v6: the controller process decides and answers.

Work: `controller/admin/a20_delete_topics.py`.
Source: Kafka `KafkaApis.handleDeleteTopicsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
