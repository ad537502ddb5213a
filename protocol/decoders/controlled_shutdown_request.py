"""Decoders of ControlledShutdownRequest, v0 to v3.

Made by `make codec` from protocol/schema/07_controlled_shutdown.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.controlled_shutdown_request import ControlledShutdownRequest

unpack_i = Struct(">i").unpack_from
unpack_iq = Struct(">iq").unpack_from
unpack_iqB = Struct(">iqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ControlledShutdownRequest:
    pos = 0
    # broker_id to the end
    (broker_id,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(ControlledShutdownRequest, (broker_id, -1))


def decode_v2(buf: memoryview) -> ControlledShutdownRequest:
    pos = 0
    # broker_id to the end
    broker_id, broker_epoch = unpack_iq(buf, pos)
    # the message
    pos += 12
    return new(ControlledShutdownRequest, (broker_id, broker_epoch))


def decode_v3(buf: memoryview) -> ControlledShutdownRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # broker_id to tags
    broker_id, broker_epoch, n = unpack_iqB(buf, pos)
    # tags
    pos += 13
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ControlledShutdownRequest, (broker_id, broker_epoch))


DECODERS: Final[dict[int, Callable[[memoryview], ControlledShutdownRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
}
PLACES: Final = """\
20 24 29 33 38 48 the message
22 31 broker_id to the end
42 broker_id to tags
44 tags
"""
