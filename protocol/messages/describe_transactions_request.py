"""DescribeTransactionsRequest, v0.

Made by `make codec` from protocol/schema/65_describe_transactions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_transactions_response import DescribeTransactionsResponse


class _DescribeTransactionsRequest(NamedTuple):
    transactional_ids: Sequence[str] = ()  # v0+


class DescribeTransactionsRequest(_DescribeTransactionsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeTransactionsResponse: ...
