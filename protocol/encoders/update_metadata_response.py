"""Encoders of UpdateMetadataResponse, v0 to v8.

Made by `make codec` from protocol/schema/06_update_metadata.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_hx = Struct(">hx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (error_code,) = msg
    # error_code to the end
    put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (error_code,) = msg
    # error_code to the end
    put(pack_hx(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v0,
    4: encode_v0,
    5: encode_v0,
    6: encode_v6,
    7: encode_v6,
    8: encode_v6,
}
PLACES: Final = """\
15 22 28 35 the message
20 33 error_code to the end
"""
