"""`RowDigest`: what rows a micro-batch has, in whatever order and by whichever task.

    128 bits: the sum of a BLAKE2b of each row (key, value, headers, partition as it is given), and the number of rows

Kept beside the number of a micro-batch that was committed: a number stands for its rows only as long as the checkpoint is the same one.
Digests of tasks add up to that of their micro-batch.

Runs in: Python workers (rows), the driver (sums). The text form is in the notes of `sink_floors.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from headrace.protocol.record_batch import Header

BYTES = 16
_MASK = (1 << (8 * BYTES)) - 1


@dataclass(slots=True)
class RowDigest:
    """Of the rows that were added."""

    rows: int = 0
    total: int = 0

    def add(self, key: bytes | None, value: bytes | None, headers: Sequence[Header], partition: int | None) -> None:
        """One row."""
        parts = [_part(key), _part(value), b"" if partition is None else b"%d" % partition]
        for name, content in headers:
            parts += [_part(name.encode()), _part(content)]
        digest = blake2b(b"|".join(parts), digest_size=BYTES).digest()
        self.rows += 1
        self.total = (self.total + int.from_bytes(digest, "big")) & _MASK

    def __add__(self, other: RowDigest) -> RowDigest:
        return RowDigest(self.rows + other.rows, (self.total + other.total) & _MASK)

    def __str__(self) -> str:
        return f"{self.rows}:{self.total:032x}"


def _part(data: bytes | None) -> bytes:
    """With its length, so that no two rows have the same bytes."""
    return b"-" if data is None else b"%d:%b" % (len(data), data)
