"""TransactionLogKey, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class TransactionLogKey(NamedTuple):
    transactional_id: str = ""  # v0
