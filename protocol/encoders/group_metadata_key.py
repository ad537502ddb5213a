"""Encoders of GroupMetadataKey, v2.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
join = b"".join


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (group,) = msg
    # group
    text = group.encode()
    put(pack_h(len(text)))
    put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {2: encode_v2}
PLACES: Final = """\
14 23 the message
19 group
"""
