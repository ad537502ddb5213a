"""Encoders of DescribeTransactionsRequest, v0.

Made by `make codec` from protocol/schema/65_describe_transactions.txt: do not edit.
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
    (transactional_ids,) = msg
    # transactional_ids
    n = len(transactional_ids) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in transactional_ids:
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
15 28 the message
20 transactional_ids
"""
