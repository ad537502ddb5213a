"""A batch being built: records of one partition, and its state.

Sizes are upper bounds of what the records take uncompressed.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.protocol.record_batch import HEADER_BYTES, Header, Record

RECORD_OVERHEAD_BYTES = 36  # at most: six varints and the attributes of a record
HEADER_OVERHEAD_BYTES = 10  # at most: the two lengths of a header
LETTER_BYTES_MAX = 4  # of a header's name, in UTF-8


class Batch:
    """Records of one partition, in the order they were sent."""

    __slots__ = ("created_s", "failure", "numbers", "records", "retry_at_s", "sequence", "size", "tries")

    def __init__(self, created_s: float) -> None:
        self.records: list[Record] = []
        self.numbers: list[int] = []  # of the same records, in the order in which the producer was given them
        self.size = HEADER_BYTES
        self.created_s = created_s
        self.sequence = -1  # of the first record, once it was sent
        self.tries = 0
        self.retry_at_s = 0.0
        self.failure: HeadraceError | None = None  # of the last try

    def halves(self) -> list[Batch]:
        """Split a batch that is too large in two, both closed for further records."""
        middle = len(self.records) // 2
        found = []
        for part in (slice(middle), slice(middle, None)):
            half = Batch(self.created_s)
            records, half.numbers = self.records[part], self.numbers[part]
            half.records = [record._replace(offset=index) for index, record in enumerate(records)]
            half.size += sum(record_bytes(record.key, record.value, record.headers) for record in records)
            half.tries = 1
            found.append(half)
        return found


def record_bytes(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """Upper bound of a record's size in bytes."""
    size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += HEADER_OVERHEAD_BYTES + LETTER_BYTES_MAX * len(name) + len(content or b"")
    return size
