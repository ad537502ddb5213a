"""Encoders of ConsumerGroupTargetAssignmentMemberKey, v7.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
join = b"".join


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, member_id = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    put(pack_h(len(text)))
    put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {7: encode_v7}
PLACES: Final = """\
14 27 the message
19 group_id
23 member_id
"""
