"""EndTxnRequest, v0 to v4.

Made by `make codec` from protocol/schema/26_end_txn.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.end_txn_response import EndTxnResponse


class _EndTxnRequest(NamedTuple):
    transactional_id: str = ""  # v0+
    producer_id: int = 0  # v0+
    producer_epoch: int = 0  # v0+
    committed: bool = False  # v0+


class EndTxnRequest(_EndTxnRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> EndTxnResponse: ...
