"""Request and response frames: the size, the headers, and how to tell a guest from the wrong protocol.

    request    size i32 | api_key i16 | api_version i16 | correlation_id i32 | client_id nullable string |
    [tags] | body
    response   size i32 | correlation_id i32 | [tags] | body

The tag section is there where the API's version is flexible. The client id keeps its 2-byte length in all of
them.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from headrace.errors import BadFrame
from headrace.protocol.apis import ApiKey, request_header_version, response_header_version
from headrace.protocol.codec import encode_request
from headrace.protocol.varint import read_uvarint

CLIENT_ID_BYTES_MAX = 32767

_FIXED = struct.Struct(">hhih")
_FIXED_V0 = struct.Struct(">hhi")
_flexible: dict[tuple[int, int], bool] = {}


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int  # in the frame without its size


def parse_request_header(frame: memoryview) -> RequestHeader:
    """The header of a frame (without its size). An unknown key or version is read as a header without tags.

    raises   BadFrame, where it is short or contradicts itself
    """
    try:
        api_key, api_version, correlation_id, length = _FIXED.unpack_from(frame, 0)
        position = 10
        client_id = None
        if length >= 0:
            position += length
            if position > len(frame):
                raise BadFrame(f"client id of {length} bytes announced, fewer remain")
            client_id = str(frame[10:position], "utf-8", "replace")
        elif length != -1:
            raise BadFrame(f"client id length {length}")
        if _has_tags(api_key, api_version):
            position = skip_tags(frame, position)
        return RequestHeader(api_key, api_version, correlation_id, client_id, position)
    except (struct.error, IndexError, ValueError) as failure:
        raise BadFrame(f"request header: {failure}") from None


def skip_tags(frame: memoryview | bytes, position: int) -> int:
    """The position behind a tag section.

    raises   IndexError or ValueError, where it does not fit
    """
    if not frame[position]:
        return position + 1
    count, position = read_uvarint(frame, position)
    if count * 2 > len(frame) - position:
        raise ValueError(f"{count} tags announced, too few bytes remain")
    for _ in range(count):
        _tag, position = read_uvarint(frame, position)
        size, position = read_uvarint(frame, position)
        position += size
        if position > len(frame):
            raise ValueError(f"tag of {size} bytes announced, fewer remain")
    return position


def build_request(api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any) -> bytes:
    """A whole frame with its size."""
    header_version = request_header_version(api_key, version)
    if header_version == 0:
        header = _FIXED_V0.pack(api_key, version, correlation_id)
    else:
        name = b"" if client_id is None else client_id.encode()
        header = _FIXED.pack(api_key, version, correlation_id, -1 if client_id is None else len(name)) + name
        if header_version == 2:
            header += b"\0"
    body = encode_request(api_key, version, message)
    return struct.pack(">i", len(header) + len(body)) + header + body


def parse_response_header(frame: memoryview, api_key: int, version: int) -> tuple[int, int]:
    """(correlation id, position of the body) in a response frame without its size.

    raises   BadFrame, where it is short
    """
    try:
        (correlation_id,) = struct.unpack_from(">i", frame, 0)
        position = 4
        if response_header_version(api_key, version):
            position = skip_tags(frame, position)
        return correlation_id, position
    except (struct.error, IndexError, ValueError) as failure:
        raise BadFrame(f"response header: {failure}") from None


def describe_foreign(head: bytes) -> str | None:
    """What the first bytes of a connection are, where they are another protocol's; None where they are not known."""
    if len(head) >= 3 and head[0] == 0x16 and head[1] == 3 and head[2] <= 4:
        return "a TLS hello"
    if head[:4] in (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI "):
        return "an HTTP request"
    return None


def _has_tags(api_key: int, api_version: int) -> bool:
    known = _flexible.get((api_key, api_version))
    if known is None:
        try:
            known = request_header_version(ApiKey(api_key), api_version) == 2
        except ValueError:
            return False  # unknown keys come from outside: not remembered
        if 0 <= api_version < 64:
            _flexible[api_key, api_version] = known
    return known
