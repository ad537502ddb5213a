"""AlterConfigs (key 33), v0 to v2: the controller process decides and answers.

Work: `controller/admin/a33_alter_configs.py`.
Source: Kafka `KafkaApis.handleAlterConfigsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
