"""ElectLeaders (key 43), v0 to v2: the controller process decides and answers.

Work: `controller/admin/a43_elect_leaders.py`.
Source: Kafka `KafkaApis.handleElectLeaders`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
