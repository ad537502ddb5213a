"""AddOffsetsToTxnResponse, v0 to v4.

Made by `make codec` from protocol/schema/25_add_offsets_to_txn.txt: do not edit.
"""

from typing import NamedTuple


class AddOffsetsToTxnResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
