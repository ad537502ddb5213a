"""Encoders of AlterReplicaLogDirsRequest, v0 to v2.

Made by `make codec` from protocol/schema/34_alter_replica_log_dirs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (dirs,) = msg
    # dirs
    put(pack_i(len(dirs)))
    for path, topics in dirs:
        # dirs.path
        text = path.encode()
        put(pack_h(len(text)))
        put(text)
        # dirs.topics
        put(pack_i(len(topics)))
        for name, partitions in topics:
            # dirs.topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # dirs.topics.partitions
            put(pack_i(len(partitions)))
            put(pack(f">{len(partitions)}i", *partitions))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (dirs,) = msg
    # dirs
    n = len(dirs) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for path, topics in dirs:
        # dirs.path
        text = path.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # dirs.topics
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partitions in topics:
            # dirs.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # dirs.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
            # dirs.topics
            put(b"\x00")
        # dirs
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
18 40 46 77 the message
23 51 75 dirs
26 55 dirs.path
30 60 73 dirs.topics
33 64 dirs.topics.name
37 69 dirs.topics.partitions
"""
