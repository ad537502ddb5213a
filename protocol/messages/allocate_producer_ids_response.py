"""AllocateProducerIdsResponse, v0.

Made by `make codec` from protocol/schema/67_allocate_producer_ids.txt: do not edit.
"""

from typing import NamedTuple


class AllocateProducerIdsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    producer_id_start: int = 0  # v0+
    producer_id_len: int = 0  # v0+
