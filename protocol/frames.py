"""Request and response frames: the size, the headers, and how to tell a guest from the wrong protocol.

    request    size i32 | api_key i16 | api_version i16 | correlation_id i32 | client_id | [tags] | body
    response   size i32 | correlation_id i32 | [tags] | body

The tag section is there where the API's version is flexible; the client id, a nullable string, keeps its
2-byte length even there. Two exceptions: the response to ApiVersions never has tags, so that any client can
read it, and ControlledShutdown v0 has no client id.

Source: KIP-482, KIP-511; Kafka `RequestHeader`, `ApiKeys.requestHeaderVersion`.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

from headrace.errors import BadFrame
from headrace.limits import HEADER_TAGS_MAX
from headrace.protocol.apis import ApiKey, request_header_version, response_header_version
from headrace.protocol.codec import encode_request, encode_request_parts, request_name
from headrace.protocol.message_table import MESSAGES
from headrace.protocol.numbers import read_int
from headrace.protocol.varint import read_uvarint

CLIENT_ID_POSITION: Final = 10
NO_CLIENT_ID: Final = -1

_FIXED: Final = struct.Struct(">hhih")
_FIXED_V0: Final = struct.Struct(">hhi")
_SIZE: Final = struct.Struct(">i")
_RESPONSE: Final = struct.Struct(">ii")
_header_versions: Final[dict[tuple[int, int], int]] = {}
_new: Final = tuple.__new__  # a third of the time of a NamedTuple's own constructor


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int  # in the frame without its size


def unpack_size(buffer: memoryview, position: int) -> int:
    """The size of the frame that begins at a position. raises struct.error"""
    return int(_SIZE.unpack_from(buffer, position)[0])


def pack_head(frame: bytearray | memoryview, position: int, size: int, correlation_id: int) -> None:
    """What a response begins with: its size without these four bytes, the correlation id."""
    _RESPONSE.pack_into(frame, position, size, correlation_id)


def unpack_api(frame: memoryview, position: int) -> tuple[int, int, int]:
    """api key, version, correlation id: what every header begins with. raises struct.error"""
    return _FIXED_V0.unpack_from(frame, position)


def read_client_id(frame: memoryview, header_version: int) -> tuple[int, int]:
    """(where the client id at CLIENT_ID_POSITION ends, or NO_CLIENT_ID; where the body begins).

    raises   BadFrame, where the header is short or contradicts itself
    """
    if not header_version:
        return NO_CLIENT_ID, _FIXED_V0.size
    try:
        length = (frame[8] << 8) | frame[9]
        end = position = CLIENT_ID_POSITION
        if length < 0x8000:
            end = position = position + length
            if position > len(frame):
                raise BadFrame(f"request header: client id of {length} bytes is truncated")
        elif length == 0xFFFF:
            end = NO_CLIENT_ID
        else:
            raise BadFrame(f"request header: client id length {length - 0x10000}")
        return end, skip_tags(frame, position) if header_version == 2 else position
    except (struct.error, IndexError, ValueError) as failure:
        raise BadFrame(f"request header: {failure}") from None


def parse_request_header(frame: memoryview) -> RequestHeader:
    """The header of a frame (without its size). An unknown key or version is read as a header without tags.

    A client id that is not UTF-8 is accepted, as in Kafka: it is only a name for people.

    raises   BadFrame, where it is short or contradicts itself
    """
    try:
        api_key, api_version, correlation_id = unpack_api(frame, 0)
    except struct.error as failure:
        raise BadFrame(f"request header: {failure}") from None
    version = _header_versions.get((api_key, api_version))
    if version is None:
        version = _learn_version(api_key, api_version)
    end, position = read_client_id(frame, version)
    client_id = None if end < 0 else str(frame[CLIENT_ID_POSITION:end], "utf-8", "replace")
    return _new(RequestHeader, (api_key, api_version, correlation_id, client_id, position))


def skip_tags(frame: memoryview | bytes, position: int) -> int:
    """The position after a header's tag section.

    raises   IndexError or ValueError, where it does not fit
    """
    if not frame[position]:
        return position + 1
    count, position = read_uvarint(frame, position)
    if count > HEADER_TAGS_MAX:
        raise ValueError(f"{count} tags announced, {HEADER_TAGS_MAX} at most are read")
    for _ in range(count):
        _tag, position = read_uvarint(frame, position)
        size, position = read_uvarint(frame, position)
        position += size
        if position > len(frame):
            raise ValueError(f"tag of {size} bytes is truncated")
    return position


def build_request(api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any) -> bytes:
    """A whole frame with its size.

    message   of that API, or its body, written already
    """
    header = _request_header(api_key, version, correlation_id, client_id)
    body = message if isinstance(message, bytes) else encode_request(api_key, version, message)
    return _SIZE.pack(len(header) + len(body)) + header + body


def build_request_parts(
    api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any
) -> list[Any]:
    """The same as parts, in order: a batch of records is not copied."""
    header = _request_header(api_key, version, correlation_id, client_id)
    parts = encode_request_parts(api_key, version, message)
    size = len(header) + sum([len(part) for part in parts])
    return [_SIZE.pack(size) + header, *parts]


def _request_header(api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    header_version = request_header_version(api_key, version)
    if header_version == 0:
        return _FIXED_V0.pack(api_key, version, correlation_id)
    name = b"" if client_id is None else client_id.encode()
    header = _FIXED.pack(api_key, version, correlation_id, -1 if client_id is None else len(name)) + name
    return header + b"\0" if header_version == 2 else header


def parse_response_header(frame: memoryview, api_key: int, version: int) -> tuple[int, int]:
    """(correlation id, position of the body) in a response frame without its size.

    raises   BadFrame, where it is short
    """
    try:
        correlation_id = read_int(frame, 0)
        position = 4
        if response_header_version(api_key, version):
            position = skip_tags(frame, position)
        return correlation_id, position
    except (struct.error, IndexError, ValueError) as failure:
        raise BadFrame(f"response header: {failure}") from None


def describe_foreign(head: bytes) -> str | None:
    """What the first bytes of a connection are, where they are another protocol's; None where they are not known."""
    if len(head) >= 3 and head[0] in (0x15, 0x16) and head[1] == 3 and head[2] <= 4:
        return "a TLS hello" if head[0] == 0x16 else "a TLS alert"
    if head[:4] in (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI "):
        return "an HTTP request"
    if head[:4] == b"HTTP":
        return "an HTTP response"
    if head[:4] == b"SSH-":
        return "an SSH banner"
    return None


def _learn_version(api_key: int, api_version: int) -> int:
    """The header version of an API, kept if the schema has such an API and version: no others, they come from outside."""
    try:
        key = ApiKey(api_key)
    except ValueError:
        return 1
    version = request_header_version(key, api_version)
    _module, lowest, highest, _flexible = MESSAGES[request_name(key)]
    if lowest <= api_version <= highest:
        _header_versions[api_key, api_version] = version
    return version
