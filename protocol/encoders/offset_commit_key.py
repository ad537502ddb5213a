"""Encoders of OffsetCommitKey, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group, topic, partition = msg
    # group
    text = group.encode()
    put(pack_h(len(text)))
    put(text)
    # topic
    text = topic.encode()
    put(pack_h(len(text)))
    put(text)
    # partition to the end
    put(pack_i(partition))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0}
PLACES: Final = """\
15 30 the message
20 group
24 topic
28 partition to the end
"""
