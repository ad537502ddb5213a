"""Encoders of ShareGroupMemberMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    rack_id, client_id, client_host, subscribed_topic_names = msg
    # rack_id
    if rack_id is None:
        put(b"\x00")
    else:
        text = rack_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # client_id
    text = client_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # client_host
    text = client_host.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # subscribed_topic_names
    n = len(subscribed_topic_names) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in subscribed_topic_names:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
15 46 the message
20 rack_id
28 client_id
33 client_host
38 subscribed_topic_names
"""
