"""Encoders of InitProducerIdRequest, v0 to v5.

Made by `make codec` from protocol/schema/22_init_producer_id.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iqhx = Struct(">iqhx").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, transaction_timeout_ms, _, _ = msg
    # transactional_id
    if transactional_id is None:
        put(b"\xff\xff")
    else:
        text = transactional_id.encode()
        put(pack_h(len(text)))
        put(text)
    # transaction_timeout_ms to the end
    put(pack_i(transaction_timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, transaction_timeout_ms, _, _ = msg
    # transactional_id
    if transactional_id is None:
        put(b"\x00")
    else:
        text = transactional_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # transaction_timeout_ms to the end
    put(pack_ix(transaction_timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, transaction_timeout_ms, producer_id, producer_epoch = msg
    # transactional_id
    if transactional_id is None:
        put(b"\x00")
    else:
        text = transactional_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # transaction_timeout_ms to the end
    put(pack_iqhx(transaction_timeout_ms, producer_id, producer_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v3,
    4: encode_v3,
    5: encode_v3,
}
PLACES: Final = """\
20 34 40 55 61 76 the message
25 45 66 transactional_id
32 53 74 transaction_timeout_ms to the end
"""
