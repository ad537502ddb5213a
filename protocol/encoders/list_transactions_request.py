"""Encoders of ListTransactionsRequest, v0 to v1.

Made by `make codec` from protocol/schema/66_list_transactions.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_qx = Struct(">qx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    state_filters, producer_id_filters, _ = msg
    # state_filters
    n = len(state_filters) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in state_filters:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # producer_id_filters
    n = len(producer_id_filters) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(pack(f">{len(producer_id_filters)}q", *producer_id_filters))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    state_filters, producer_id_filters, duration_filter = msg
    # state_filters
    n = len(state_filters) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in state_filters:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # producer_id_filters
    n = len(producer_id_filters) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    put(pack(f">{len(producer_id_filters)}q", *producer_id_filters))
    # duration_filter to the end
    put(pack_qx(duration_filter))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
17 34 41 60 the message
22 46 state_filters
30 54 producer_id_filters
58 duration_filter to the end
"""
