"""ApiVersions (key 18), v0 to v3: what is served.

The response header is always v0. A version we don't know is answered in the v0 layout with
UNSUPPORTED_VERSION and our range for this key, so that the client can ask again; its body is not parsed.

Source: Kafka `KafkaApis.handleApiVersionsRequest`; KIP-511.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.protocol.broker_versions import TOLD
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

VERSION_OF_SOFTWARE_NAME: Final = 3

_log: Final = logging.getLogger(__name__)
_LEGAL_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")
_ApiVersion = messages.ApiVersionsResponse.ApiVersion


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """List the ranges that clients and brokers may ask for."""
    version = exchange.api_version
    low, high = ADVERTISED[ApiKey.API_VERSIONS]
    if not low <= version <= high:
        _answer_unsupported(exchange, low, high)
        return
    request = decode_request(ApiKey.API_VERSIONS, version, body)
    if version >= VERSION_OF_SOFTWARE_NAME and not (
        _LEGAL_SOFTWARE.match(request.client_software_name) and _LEGAL_SOFTWARE.match(request.client_software_version)
    ):
        response = messages.ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    else:
        response = messages.ApiVersionsResponse(
            api_keys=[
                _ApiVersion(api_key=int(key), min_version=first, max_version=last)
                for key, (first, last) in sorted(TOLD.items())
            ]
        )
    exchange.answer_bytes(encode_response(ApiKey.API_VERSIONS, version, response))


def _answer_unsupported(exchange: Exchange, low: int, high: int) -> None:
    response = messages.ApiVersionsResponse(
        error_code=int(ErrorCode.UNSUPPORTED_VERSION),
        api_keys=[_ApiVersion(api_key=int(ApiKey.API_VERSIONS), min_version=low, max_version=high)],
    )
    exchange.answer_bytes(encode_response(ApiKey.API_VERSIONS, 0, response))
