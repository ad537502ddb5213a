"""Bytes to messages and back, for every API and version of the schema.

The functions are compiled from the schema on first use (`compiler.py`); what comes here is the body after
the header. Malformed bytes from outside raise a `BadFrame` that names message, version and field.
A message that can't be written is our own mistake, a ValueError that names them too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from headrace.errors import BadFrame
from headrace.protocol.apis import ApiKey
from headrace.protocol.compiler import compile_decoder, compile_encoder
from headrace.protocol.function_source import place_of

Buffer = memoryview | bytes | bytearray
Decoder = Callable[[memoryview], Any]
Encoder = Callable[[Any], list[Any]]

_DECODE_ERRORS = (IndexError, struct.error, ValueError)  # UnicodeDecodeError and Malformed are ValueErrors
_ENCODE_ERRORS = (AttributeError, TypeError, ValueError, struct.error)

_REQUESTS = {int(key): f"{key.api_name}Request" for key in ApiKey}
_RESPONSES = {int(key): f"{key.api_name}Response" for key in ApiKey}

_decoders: dict[tuple[str, int], Decoder] = {}
_encoders: dict[tuple[str, int], Encoder] = {}
_request_decoders: dict[tuple[int, int], Decoder] = {}
_response_encoders: dict[tuple[int, int], Encoder] = {}


def decode_request(api_key: int, version: int, body: memoryview) -> Any:
    """The request in a frame, after its header.

    raises   BadFrame, where the bytes are not such a request; KeyError, where the schema has no such API or version
    """
    decode = _request_decoders.get((api_key, version))
    if decode is None:
        decode = _request_decoders[api_key, version] = _decoder(request_name(api_key), version)
    try:
        return decode(body)
    except _DECODE_ERRORS as failure:
        raise BadFrame(_describe(request_name(api_key), version, failure)) from None


def encode_response_parts(api_key: int, version: int, message: Any) -> list[Any]:
    """The response body as parts: bytes, and each large `records` value as it was given (anything with a `len`).

    raises   ValueError, where a value is not one of its field; KeyError as `decode_request`
    """
    encode = _response_encoders.get((api_key, version))
    if encode is None:
        encode = _response_encoders[api_key, version] = _encoder(response_name(api_key), version)
    try:
        return encode(message)
    except _ENCODE_ERRORS as failure:
        raise ValueError(_describe(response_name(api_key), version, failure)) from failure


def encode_response(api_key: int, version: int, message: Any) -> bytes:
    """The response body. Raises as `encode_response_parts`."""
    return _join(encode_response_parts(api_key, version, message))


def encode_request_parts(api_key: int, version: int, message: Any) -> list[Any]:
    """The request body as parts, as `encode_response_parts` gives a response's. Raises as that."""
    name = request_name(api_key)
    encode = _encoder(name, version)
    try:
        return encode(message)
    except _ENCODE_ERRORS as failure:
        raise ValueError(_describe(name, version, failure)) from failure


def encode_request(api_key: int, version: int, message: Any) -> bytes:
    """The request body. Raises as `encode_response_parts`."""
    return encode_struct(request_name(api_key), version, message)


def decode_response(api_key: int, version: int, body: Buffer) -> Any:
    """The response in a frame, after its header. Raises as `decode_request`."""
    return decode_struct(response_name(api_key), version, body)


def encode_struct(name: str, version: int, message: Any) -> bytes:
    """Any message of the schema by name: `OffsetCommitValue`, `FetchRequest`. Raises as `encode_response_parts`."""
    encode = _encoder(name, version)
    try:
        return _join(encode(message))
    except _ENCODE_ERRORS as failure:
        raise ValueError(_describe(name, version, failure)) from failure


def decode_struct(name: str, version: int, body: Buffer) -> Any:
    """Any message of the schema by name. Raises as `decode_request`."""
    decode = _decoder(name, version)
    try:
        return decode(memoryview(body))
    except _DECODE_ERRORS as failure:
        raise BadFrame(_describe(name, version, failure)) from None


def request_name(api_key: int) -> str:
    """`FetchRequest` for 1; KeyError for an unknown key."""
    return _REQUESTS[api_key]


def response_name(api_key: int) -> str:
    """`FetchResponse` for 1; KeyError for an unknown key."""
    return _RESPONSES[api_key]


def _join(parts: list[Any]) -> bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _describe(name: str, version: int, failure: BaseException) -> str:
    return f"{name} v{version} at {place_of(failure) or 'its end'}: {failure}"


def _decoder(name: str, version: int) -> Decoder:
    found = _decoders.get((name, version))
    if found is None:
        found = _decoders[name, version] = compile_decoder(name, version)
    return found


def _encoder(name: str, version: int) -> Encoder:
    found = _encoders.get((name, version))
    if found is None:
        found = _encoders[name, version] = compile_encoder(name, version)
    return found
