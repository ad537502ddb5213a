"""InitProducerId (key 22), v0 to v4: without a transactional id the controller process answers, else the id's owner.

Work: `controller/admin/a22_init_producer_id.py`; `partition/coordination/transaction_requests.py`, then
`coordinators/transaction/identity.py`. Source: Kafka `KafkaApis.handleInitProducerIdRequest`.
"""

from __future__ import annotations

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.transaction_owners import forward_to_transaction


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward the request."""
    request = decode_request(ApiKey.INIT_PRODUCER_ID, exchange.api_version, body)
    if request.transactional_id is None:
        context.forward_to_controller(exchange, body)
    else:
        forward_to_transaction(context, exchange, body, request.transactional_id, _refuse)


def _refuse(code: int) -> messages.InitProducerIdResponse:
    return messages.InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
