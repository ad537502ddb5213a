"""Numbers at a position of bytes, as Kafka's protocol has them: big-endian, with a sign.

Pure. For what reads or writes one message alone (a Produce, an OffsetCommit, the answer to a Fetch); every other one has its functions
made from the schema. In the compiled core each is a few instructions (`headrace/native`). All raise struct.error, where the
bytes end before, or the number does not fit.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.memory import Buffer

_SHORT: Final = Struct(">h")
_INT: Final = Struct(">i")
_LONG: Final = Struct(">q")


def read_short(buffer: Buffer, position: int) -> int:
    """An int16."""
    return int(_SHORT.unpack_from(buffer, position)[0])


def read_int(buffer: Buffer, position: int) -> int:
    """An int32."""
    return int(_INT.unpack_from(buffer, position)[0])


def read_long(buffer: Buffer, position: int) -> int:
    """An int64."""
    return int(_LONG.unpack_from(buffer, position)[0])


def pack_int(buffer: bytearray | memoryview, position: int, value: int) -> None:
    """Write an int32."""
    _INT.pack_into(buffer, position, value)


def pack_long(buffer: bytearray | memoryview, position: int, value: int) -> None:
    """Write an int64."""
    _LONG.pack_into(buffer, position, value)
