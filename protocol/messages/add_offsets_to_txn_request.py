"""AddOffsetsToTxnRequest, v0 to v4.

Made by `make codec` from protocol/schema/25_add_offsets_to_txn.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse


class _AddOffsetsToTxnRequest(NamedTuple):
    transactional_id: str = ""  # v0+
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    group_id: str = ""  # v0+


class AddOffsetsToTxnRequest(_AddOffsetsToTxnRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> AddOffsetsToTxnResponse: ...
