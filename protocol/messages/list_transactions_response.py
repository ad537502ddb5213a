"""ListTransactionsResponse, v0 to v1.

Made by `make codec` from protocol/schema/66_list_transactions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class TransactionState(NamedTuple):
    transactional_id: str = ""  # v0+
    producer_id: int = 0  # v0+
    transaction_state: str = ""  # v0+


class _ListTransactionsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    unknown_state_filters: Sequence[str] = ()  # v0+
    transaction_states: Sequence[TransactionState] = ()  # v0+


class ListTransactionsResponse(_ListTransactionsResponse):
    __slots__ = ()
    TransactionState: TypeAlias = TransactionState
