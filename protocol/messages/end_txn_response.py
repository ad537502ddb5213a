"""EndTxnResponse, v0 to v4.

Made by `make codec` from protocol/schema/26_end_txn.txt: do not edit.
"""

from typing import NamedTuple


class EndTxnResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
