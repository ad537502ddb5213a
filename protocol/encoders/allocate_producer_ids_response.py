"""Encoders of AllocateProducerIdsResponse, v0.

Made by `make codec` from protocol/schema/67_allocate_producer_ids.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_ihqix = Struct(">ihqix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, producer_id_start, producer_id_len = msg
    # throttle_time_ms to the end
    put(pack_ihqix(throttle_time_ms, error_code, producer_id_start, producer_id_len))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
14 21 the message
19 throttle_time_ms to the end
"""
