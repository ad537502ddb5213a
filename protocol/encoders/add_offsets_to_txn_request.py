"""Encoders of AddOffsetsToTxnRequest, v0 to v4.

Made by `make codec` from protocol/schema/25_add_offsets_to_txn.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS

pack_h = Struct(">h").pack
pack_qh = Struct(">qh").pack
pack_qhB = Struct(">qhB").pack
pack_qhh = Struct(">qhh").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, producer_id, producer_epoch, group_id = msg
    # transactional_id
    text = transactional_id.encode()
    put(pack_h(len(text)))
    put(text)
    # group_id
    text = group_id.encode()
    # producer_id to group_id
    put(pack_qhh(producer_id, producer_epoch, len(text)))
    # group_id
    put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, producer_id, producer_epoch, group_id = msg
    # transactional_id
    text = transactional_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    if n < 128:
        # producer_id to group_id
        put(pack_qhB(producer_id, producer_epoch, n))
    # group_id
    else:
        # producer_id to group_id
        put(pack_qh(producer_id, producer_epoch))
        # group_id
        put(encode_string_length(n))
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
20 35 41 64 the message
25 46 transactional_id
29 33 51 57 61 group_id
31 55 59 producer_id to group_id
"""
