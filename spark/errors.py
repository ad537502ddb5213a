"""Exceptions of decoding and writing, beside those of reading (`arrow/errors.py`)."""

from __future__ import annotations

from headrace.client.schemas.failures import RegistryUnavailable
from headrace.errors import HeadraceError

__all__ = ["BadRow", "RegistryUnavailable", "RowsDiffer", "StaleCheckpoint", "UndecodableRecord"]


class BadRow(HeadraceError):
    """A row that can't be a record: a null topic, a header without a key, or one that is no UTF-8."""


class RowsDiffer(HeadraceError):
    """Attempts of an exactly-once task that did not have the same rows; or what one wrote can't be found any more."""


class StaleCheckpoint(HeadraceError):
    """A micro-batch whose number was committed, or passed, with other rows: its query's checkpoint is an older copy."""


class UndecodableRecord(HeadraceError):
    """A record that `decode=` could not decode, under mode "fail"; names topic, partition and offset.

    what   is wrong, without the advice
    """

    def __init__(self, what: str, advice: str = "decode mode null or column reads the others") -> None:
        super().__init__(f"{what}; {advice}")
        self.what = what
