"""SaslAuthenticate (key 36), v0 to v2: ILLEGAL_SASL_STATE, as every listener of Kafka answers that is no SASL one.

Source: Kafka `KafkaApis.handleSaslAuthenticateRequest`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

NOT_EXPECTED: Final = "SaslAuthenticate request received after successful authentication"


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """What was sent is not read."""
    decode_request(ApiKey.SASL_AUTHENTICATE, exchange.api_version, body)
    response = messages.SaslAuthenticateResponse(
        error_code=int(ErrorCode.ILLEGAL_SASL_STATE), error_message=NOT_EXPECTED
    )
    exchange.answer_bytes(encode_response(ApiKey.SASL_AUTHENTICATE, exchange.api_version, response))
