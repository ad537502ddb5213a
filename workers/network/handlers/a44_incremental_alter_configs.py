"""IncrementalAlterConfigs (key 44), v0 to v1: the controller process decides and answers.

Work: `controller/admin/a44_incremental_alter_configs.py`.
Source: Kafka `KafkaApis.handleIncrementalAlterConfigsRequest`.
"""

from __future__ import annotations

from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the controller."""
    context.forward_to_controller(exchange, body)
