"""Bytes to messages and back, for every API and version of the schema.

The functions are compiled from the schema on first use (`compiler.py`); what comes here is the body behind
the header. Whatever is wrong with bytes from outside is a `BadFrame` that names message, version and field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from headrace.errors import BadFrame
from headrace.protocol.apis import ApiKey
from headrace.protocol.compiler import compile_decoder, compile_encoder

Buffer = memoryview | bytes | bytearray

_DECODE_ERRORS = (
    IndexError,
    struct.error,
    ValueError,
    OverflowError,
)  # UnicodeDecodeError, Malformed are ValueErrors

_decoders: dict[tuple[str, int], Callable[[memoryview], Any]] = {}
_encoders: dict[tuple[str, int], Callable[[Any], list[Any]]] = {}
_request_decoders: dict[tuple[int, int], Callable[[memoryview], Any]] = {}
_response_encoders: dict[tuple[int, int], Callable[[Any], list[Any]]] = {}


def decode_request(api_key: int, version: int, body: memoryview) -> Any:
    """The request in a frame, behind its header.

    raises   BadFrame, where the bytes are not such a request; KeyError, where the schema has no such API or version
    """
    decode = _request_decoders.get((api_key, version))
    if decode is None:
        decode = _request_decoders[api_key, version] = _decoder(request_name(api_key), version)
    try:
        return decode(body)
    except _DECODE_ERRORS as failure:
        raise BadFrame(f"{request_name(api_key)} v{version}: {failure}") from None


def encode_response_parts(api_key: int, version: int, message: Any) -> list[Any]:
    """The response body as parts: bytes, and each large `records` value as it was given (anything with a `len`)."""
    encode = _response_encoders.get((api_key, version))
    if encode is None:
        encode = _response_encoders[api_key, version] = _encoder(response_name(api_key), version)
    return encode(message)


def encode_response(api_key: int, version: int, message: Any) -> bytes:
    """The response body."""
    parts = encode_response_parts(api_key, version, message)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def encode_request(api_key: int, version: int, message: Any) -> bytes:
    """The request body."""
    return encode_struct(request_name(api_key), version, message)


def decode_response(api_key: int, version: int, body: Buffer) -> Any:
    """The response in a frame, behind its header. Raises as `decode_request`."""
    return decode_struct(response_name(api_key), version, body)


def encode_struct(name: str, version: int, message: Any) -> bytes:
    """Any message of the schema by name: `OffsetCommitValue`, `FetchRequest`."""
    return b"".join(_encoder(name, version)(message))


def decode_struct(name: str, version: int, body: Buffer) -> Any:
    """Any message of the schema by name. Raises as `decode_request`."""
    decode = _decoder(name, version)
    try:
        return decode(body if isinstance(body, memoryview) else memoryview(body))
    except _DECODE_ERRORS as failure:
        raise BadFrame(f"{name} v{version}: {failure}") from None


def request_name(api_key: int) -> str:
    """`FetchRequest` for 1."""
    return f"{ApiKey(api_key).api_name}Request"


def response_name(api_key: int) -> str:
    """`FetchResponse` for 1."""
    return f"{ApiKey(api_key).api_name}Response"


def _decoder(name: str, version: int) -> Callable[[memoryview], Any]:
    found = _decoders.get((name, version))
    if found is None:
        found = _decoders[name, version] = compile_decoder(name, version)
    return found


def _encoder(name: str, version: int) -> Callable[[Any], list[Any]]:
    found = _encoders.get((name, version))
    if found is None:
        found = _encoders[name, version] = compile_encoder(name, version)
    return found
