"""WriteTxnMarkersRequest, v0 to v1.

Made by `make codec` from protocol/schema/27_write_txn_markers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse


class WritableTxnMarkerTopic(NamedTuple):
    name: str = ""  # v0+
    partition_indexes: Sequence[int] = ()  # v0+


class WritableTxnMarker(NamedTuple):
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    transaction_result: bool = False  # v0+
    topics: Sequence[WritableTxnMarkerTopic] = ()  # v0+
    coordinator_epoch: int = 0  # v0+


class _WriteTxnMarkersRequest(NamedTuple):
    markers: Sequence[WritableTxnMarker] = ()  # v0+


class WriteTxnMarkersRequest(_WriteTxnMarkersRequest):
    __slots__ = ()
    WritableTxnMarkerTopic: TypeAlias = WritableTxnMarkerTopic
    WritableTxnMarker: TypeAlias = WritableTxnMarker
    if TYPE_CHECKING:

        def _answer_(self) -> WriteTxnMarkersResponse: ...
