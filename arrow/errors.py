"""Exceptions of reading ranges, beside the client's KafkaError and ConnectionFailed."""

from __future__ import annotations

from headrace.errors import HeadraceError


class CorruptRange(HeadraceError):
    """Bytes that are not valid batches, or were changed after they were written; names file and position."""


class DataLoss(HeadraceError):
    """Requested offsets no longer exist; failOnDataLoss=false reads what is left."""


class TimestampOverflow(HeadraceError):
    """A record's timestamp does not fit Spark's timestamp type."""


class TopicRecreated(HeadraceError):
    """A topic was deleted and created again after its offsets were planned: they refer to other records now."""
