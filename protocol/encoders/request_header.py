"""Encoders of RequestHeader, v0 to v2.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_hhi = Struct(">hhi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    request_api_key, request_api_version, correlation_id, _ = msg
    # request_api_key to the end
    put(pack_hhi(request_api_key, request_api_version, correlation_id))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    request_api_key, request_api_version, correlation_id, client_id = msg
    # request_api_key to client_id
    put(pack_hhi(request_api_key, request_api_version, correlation_id))
    # client_id
    if client_id is None:
        put(b"\xff\xff")
    else:
        text = client_id.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    request_api_key, request_api_version, correlation_id, client_id = msg
    # request_api_key to client_id
    put(pack_hhi(request_api_key, request_api_version, correlation_id))
    # client_id
    if client_id is None:
        put(b"\xff\xff")
    else:
        text = client_id.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2}
PLACES: Final = """\
15 22 28 42 48 62 the message
20 request_api_key to the end
33 53 request_api_key to client_id
35 55 client_id
"""
