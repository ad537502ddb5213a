"""ListTransactionsRequest, v0 to v1.

Made by `make codec` from protocol/schema/66_list_transactions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.list_transactions_response import ListTransactionsResponse


class _ListTransactionsRequest(NamedTuple):
    state_filters: Sequence[str] = ()  # v0+
    producer_id_filters: Sequence[int] = ()  # v0+
    duration_filter: int = -1  # v1+


class ListTransactionsRequest(_ListTransactionsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> ListTransactionsResponse: ...
