"""What a transaction coordinator wants done beside the effects that every coordinator has (`effects.py`).

SendMarkers   write a marker to each of these partitions, wherever they are led, until it is there
DropMarkers   what is left of that is not wanted any longer
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.workers.coordinators.transaction.transaction import TopicIndex


class SendMarkers(NamedTuple):
    """Its outcomes are events: `MarkersWritten`, a part at a time, and `MarkersRefused`.

    state_partition   index in `__transaction_state`: its leader epoch goes with each marker
    serial            unique in the coordinator's life
    """

    state_partition: int
    serial: int
    transactional_id: str
    producer_id: int
    epoch: int
    is_commit: bool
    partitions: frozenset[TopicIndex]


class DropMarkers(NamedTuple):
    state_partition: int
    serial: int
