"""Bytes to messages and back, for every API and version of the schema.

The functions are generated, modules for each message (`decoders/`, `encoders/`), imported on first use; what comes here is the body after
the header. Malformed bytes from outside raise a `BadFrame` that names message, version and field.
A message that can't be written is our own mistake, a ValueError that names them too.

What is decoded has its type by its key or name. What is encoded has its type from where it was made; a message that is not the
key's fails whenever it is encoded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.errors import BadFrame
from headrace.limits import PLACES_KEPT_MAX
from headrace.protocol.apis import ApiKey
from headrace.protocol.message_table import MESSAGES

if TYPE_CHECKING:
    from headrace.protocol.decoders.signatures import DecodeRequest, DecodeResponse, DecodeStruct

Buffer = memoryview | bytes | bytearray
Decoder = Callable[[memoryview], Any]
Encoder = Callable[[Any], list[Any]]
Function = TypeVar("Function", Decoder, Encoder)

_DECODE_ERRORS = (IndexError, struct.error, ValueError)  # UnicodeDecodeError and Malformed are ValueErrors
_ENCODE_ERRORS = (AttributeError, TypeError, ValueError, struct.error)
_DECODERS: Final = "headrace.protocol.decoders"
_ENCODERS: Final = "headrace.protocol.encoders"
_NO_PLACE: Final = "the message"  # in PLACES: of lines about no field

_REQUESTS = {int(key): f"{key.api_name}Request" for key in ApiKey}
_RESPONSES = {int(key): f"{key.api_name}Response" for key in ApiKey}

_decoders: dict[tuple[str, int], Decoder] = {}
_encoders: dict[tuple[str, int], Encoder] = {}
_request_decoders: dict[tuple[int, int], Decoder] = {}
_response_encoders: dict[tuple[int, int], Encoder] = {}


def _decode_request(api_key: int, version: int, body: memoryview) -> Any:
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


def _decode_response(api_key: int, version: int, body: Buffer) -> Any:
    """The response in a frame, after its header. Raises as `decode_request`."""
    return _decode_struct(response_name(api_key), version, body)


def encode_struct(name: str, version: int, message: Any) -> bytes:
    """Any message of the schema by name: `OffsetCommitValue`, `FetchRequest`. Raises as `encode_response_parts`."""
    encode = _encoder(name, version)
    try:
        return _join(encode(message))
    except _ENCODE_ERRORS as failure:
        raise ValueError(_describe(name, version, failure)) from failure


def _decode_struct(name: str, version: int, body: Buffer) -> Any:
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


# Typed by key or name
decode_request: DecodeRequest = _decode_request
decode_response: DecodeResponse = _decode_response
decode_struct: DecodeStruct = _decode_struct


def place_of(failure: BaseException) -> str:
    """The field that a generated function was at when it failed, `topics.partitions`; empty where none was."""
    place = ""
    step: TracebackType | None = failure.__traceback__
    while step is not None:
        names = step.tb_frame.f_globals
        if names.get("__package__") in (_DECODERS, _ENCODERS):
            place = _place_of_line(names["PLACES"], step.tb_lineno)
        step = step.tb_next
    return place


@lru_cache(maxsize=PLACES_KEPT_MAX)
def _place_of_line(places: str, number: int) -> str:
    """The field that a line of a generated module is about.

    places   its PLACES: lines of numbers of lines, and the field that each of them and the lines after it are about
    """
    nearest, found = 0, ""
    for row in places.splitlines():
        words = row.split(" ")
        count = next(index for index, word in enumerate(words) if not word.isdecimal())
        start = max((int(word) for word in words[:count] if int(word) <= number), default=0)
        if start > nearest:
            nearest, found = start, " ".join(words[count:])
    return "" if found == _NO_PLACE else found


def _join(parts: list[Any]) -> bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _describe(name: str, version: int, failure: BaseException) -> str:
    return f"{name} v{version} at {place_of(failure) or 'its end'}: {failure}"


def _decoder(name: str, version: int) -> Decoder:
    found = _decoders.get((name, version))
    if found is None:
        found = _decoders[name, version] = _of_version(name, version, _module(_DECODERS, name).DECODERS)
    return found


def _encoder(name: str, version: int) -> Encoder:
    found = _encoders.get((name, version))
    if found is None:
        found = _encoders[name, version] = _of_version(name, version, _module(_ENCODERS, name).ENCODERS)
    return found


def _of_version(name: str, version: int, functions: Mapping[int, Function]) -> Function:
    if version not in functions:
        raise KeyError(f"{name} has no version {version}")
    return functions[version]


def _module(package: str, name: str) -> ModuleType:
    """The generated functions of a message. raises KeyError, where the schema has no such message"""
    return import_module(f"{package}.{MESSAGES[name][0]}")
