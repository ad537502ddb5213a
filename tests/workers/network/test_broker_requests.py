"""Requests of other brokers, which go to the controller process as they came.

Holds: workers/network/handlers/a04_leader_and_isr.py, workers/network/handlers/a05_stop_replica.py,
workers/network/handlers/a06_update_metadata.py, workers/network/handlers/a07_controlled_shutdown.py,
workers/network/handlers/a56_alter_partition.py, workers/network/handlers/a67_allocate_producer_ids.py, workers/network/router.py
"""

from types import SimpleNamespace

import pytest

from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.workers.network.handlers import (
    a04_leader_and_isr,
    a05_stop_replica,
    a06_update_metadata,
    a07_controlled_shutdown,
    a56_alter_partition,
    a67_allocate_producer_ids,
)
from headrace.workers.network.router import HANDLERS

OF_BROKERS = {
    ApiKey.LEADER_AND_ISR: a04_leader_and_isr,
    ApiKey.STOP_REPLICA: a05_stop_replica,
    ApiKey.UPDATE_METADATA: a06_update_metadata,
    ApiKey.CONTROLLED_SHUTDOWN: a07_controlled_shutdown,
    ApiKey.ALTER_PARTITION: a56_alter_partition,
    ApiKey.ALLOCATE_PRODUCER_IDS: a67_allocate_producer_ids,
}


@pytest.mark.parametrize("key", OF_BROKERS, ids=lambda key: key.api_name)
def test_a_request_of_a_broker_goes_to_the_controller_as_it_came(key):
    forwarded = []
    context = SimpleNamespace(forward_to_controller=lambda exchange, body: forwarded.append((exchange, bytes(body))))
    exchange = SimpleNamespace()
    assert HANDLERS[key] is OF_BROKERS[key].handle
    HANDLERS[key](context, exchange, memoryview(b"as it came"))
    assert forwarded == [(exchange, b"as it came")]
    assert key not in ADVERTISED, "no client sends it"
