"""SaslHandshake (key 17), v0 to v1: ILLEGAL_SASL_STATE, as every listener of Kafka answers that is no SASL one.

It is advertised because clients notify brokers of 0.10 and later by it.

Source: Kafka `KafkaApis.handleSaslHandshakeRequest`.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """No mechanism is offered."""
    decode_request(ApiKey.SASL_HANDSHAKE, exchange.api_version, body)
    response = messages.SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE), mechanisms=[])
    exchange.answer_bytes(encode_response(ApiKey.SASL_HANDSHAKE, exchange.api_version, response))
