"""AddPartitionsToTxnRequest, v0 to v5.

Made by `make codec` from protocol/schema/24_add_partitions_to_txn.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse


class AddPartitionsToTxnTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class AddPartitionsToTxnTransaction(NamedTuple):
    transactional_id: str = ""  # v4+
    producer_id: int = 0  # v4+
    producer_epoch: int = 0  # v4+
    verify_only: bool = False  # v4+
    topics: Sequence[AddPartitionsToTxnTopic] = ()  # v4+


class _AddPartitionsToTxnRequest(NamedTuple):
    transactions: Sequence[AddPartitionsToTxnTransaction] = ()  # v4+
    v3_and_below_transactional_id: str = ""  # v0-3
    v3_and_below_producer_id: int = 0  # v0-3
    v3_and_below_producer_epoch: int = 0  # v0-3
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = ()  # v0-3


class AddPartitionsToTxnRequest(_AddPartitionsToTxnRequest):
    __slots__ = ()
    AddPartitionsToTxnTopic: TypeAlias = AddPartitionsToTxnTopic
    AddPartitionsToTxnTransaction: TypeAlias = AddPartitionsToTxnTransaction
    if TYPE_CHECKING:

        def _answer_(self) -> AddPartitionsToTxnResponse: ...
