"""What a read raises on purpose, beside the client's KafkaError and ConnectionFailed."""

from __future__ import annotations

from headrace.errors import HeadraceError


class CorruptRange(HeadraceError):
    """Bytes that are no batches, or not those that were written; names file and position."""


class DataLoss(HeadraceError):
    """Offsets that were asked for are gone; failOnDataLoss=false reads what is left."""


class TimestampOverflow(HeadraceError):
    """A record's time does not fit Spark's timestamp."""


class TopicRecreated(HeadraceError):
    """A topic was deleted and created again after its offsets were planned: they mean other records now."""


class TransactionsUnsupported(HeadraceError):
    """read_committed over a transactional batch: whether it was aborted can't be told yet."""
