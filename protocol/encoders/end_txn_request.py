"""Encoders of EndTxnRequest, v0 to v4.

Made by `make codec` from protocol/schema/26_end_txn.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS

pack_h = Struct(">h").pack
pack_qhB0 = Struct(">qh?").pack
pack_qhB0x = Struct(">qh?x").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, producer_id, producer_epoch, committed = msg
    # transactional_id
    text = transactional_id.encode()
    put(pack_h(len(text)))
    put(text)
    # producer_id to the end
    put(pack_qhB0(producer_id, producer_epoch, committed))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, producer_id, producer_epoch, committed = msg
    # transactional_id
    text = transactional_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # producer_id to the end
    put(pack_qhB0x(producer_id, producer_epoch, committed))
    # the message
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
19 30 36 48 the message
24 41 transactional_id
28 46 producer_id to the end
"""
