"""Numbers at a position of received bytes, as Kafka's protocol has them: big-endian, with a sign.

Pure. For readers of one message alone (a Produce, an OffsetCommit); every other one has its functions made from the schema. In the
compiled core each is a few instructions (`headrace/compiled_memory.py`). All raise struct.error, where the bytes end before.
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
