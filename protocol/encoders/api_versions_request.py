"""Encoders of ApiVersionsRequest, v0 to v4.

Made by `make codec` from protocol/schema/18_api_versions.txt: do not edit.
"""

from collections.abc import Callable
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS

join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    _, _ = msg
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    client_software_name, client_software_version = msg
    # client_software_name
    text = client_software_name.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # client_software_version
    text = client_software_version.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v3,
}
PLACES: Final = """\
15 24 39 the message
29 client_software_name
34 client_software_version
"""
