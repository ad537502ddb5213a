"""Builders of batches that are done, for batches to come: memory that was used before costs no page faults, and may still be cached.

    take  -> a builder that is empty
    keep  <- one that is no longer used; dropped where a view of its memory is held, or CLIENT_BUILDERS_BYTES_MAX are kept already

The last one kept is taken first. A view is held by a socket that has not taken all of a batch, and by a caller that reads the records.

Source: Kafka `BufferPool`.
"""

from __future__ import annotations

from headrace.limits import CLIENT_BUILDERS_BYTES_MAX
from headrace.protocol.batch_builder import BatchBuilder


class Builders:
    """Those of one producer.

    kept_bytes   memory of those that are not in use
    """

    __slots__ = ("_kept", "kept_bytes")

    def __init__(self) -> None:
        self._kept: list[BatchBuilder] = []
        self.kept_bytes = 0

    def take(self) -> BatchBuilder:
        """A builder without records."""
        if not self._kept:
            return BatchBuilder()
        builder = self._kept.pop()
        self.kept_bytes -= builder.capacity_bytes
        return builder

    def keep(self, builder: BatchBuilder) -> None:
        """The caller has no use for it any more."""
        try:
            builder.clear()
        except BufferError:  # its bytes are still needed
            return
        size = builder.capacity_bytes
        if self.kept_bytes + size <= CLIENT_BUILDERS_BYTES_MAX:
            self._kept.append(builder)
            self.kept_bytes += size
