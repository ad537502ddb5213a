"""Encoders of OffsetCommitValue, v0 to v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length

pack_q = Struct(">q").pack
pack_qh = Struct(">qh").pack
pack_qi = Struct(">qi").pack
pack_qiB = Struct(">qiB").pack
pack_qih = Struct(">qih").pack
pack_qq = Struct(">qq").pack
pack_qx = Struct(">qx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    offset, _, metadata, commit_timestamp, _ = msg
    # metadata
    text = metadata.encode()
    # offset to metadata
    put(pack_qh(offset, len(text)))
    # metadata
    put(text)
    # commit_timestamp to the end
    put(pack_q(commit_timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    offset, _, metadata, commit_timestamp, expire_timestamp = msg
    # metadata
    text = metadata.encode()
    # offset to metadata
    put(pack_qh(offset, len(text)))
    # metadata
    put(text)
    # commit_timestamp to the end
    put(pack_qq(commit_timestamp, expire_timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    offset, leader_epoch, metadata, commit_timestamp, _ = msg
    # metadata
    text = metadata.encode()
    # offset to metadata
    put(pack_qih(offset, leader_epoch, len(text)))
    # metadata
    put(text)
    # commit_timestamp to the end
    put(pack_q(commit_timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    offset, leader_epoch, metadata, commit_timestamp, _ = msg
    # metadata
    text = metadata.encode()
    n = len(text) + 1
    if n < 128:
        # offset to metadata
        put(pack_qiB(offset, leader_epoch, n))
    # metadata
    else:
        # offset to metadata
        put(pack_qi(offset, leader_epoch))
        # metadata
        put(encode_string_length(n))
    put(text)
    # commit_timestamp to the end
    put(pack_qx(commit_timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v0,
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
22 35 41 54 60 73 79 99 the message
27 31 46 50 65 69 84 90 94 metadata
29 48 67 88 92 offset to metadata
33 52 71 97 commit_timestamp to the end
"""
