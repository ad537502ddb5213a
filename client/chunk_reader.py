"""A chunk whose records are being handed out. What fails stays where it is: nothing that comes after it is read by asking again.

Source: Kafka `CompletedFetch`, which keeps its exception for the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.client.engine.fetching import Chunk
from headrace.client.reading import Run, runs_of

if TYPE_CHECKING:
    from headrace.client.decoding import HalfDecoded


class ChunkReader:
    """The lists of records of one chunk.

    run       that was read, and not decoded yet: what decodes it may raise
    half      how far it was decoded
    failure   of the records that come next; it stays until the caller moves the position
    """

    __slots__ = ("chunk", "failure", "half", "run", "runs")

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.runs = runs_of(chunk)
        self.run: Run | None = None
        self.half: HalfDecoded | None = None
        self.failure: Exception | None = None

    @property
    def is_void(self) -> bool:
        """Whether its partition was moved, or is another member's by now."""
        return self.chunk.serial != self.chunk.subject.serial

    def next_run(self) -> Run | None:
        """The same until `run` is taken; None: there is no other. raises CorruptRecord, CompressionError"""
        if self.failure is not None:
            raise self.failure
        if self.run is None:
            try:
                self.run = next(self.runs, None)
            except Exception as failure:
                self.failure = failure
                raise
        return self.run
