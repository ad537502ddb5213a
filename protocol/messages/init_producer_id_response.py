"""InitProducerIdResponse, v0 to v5.

Made by `make codec` from protocol/schema/22_init_producer_id.txt: do not edit.
"""

from typing import NamedTuple


class InitProducerIdResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    producer_id: int = -1  # v0+
    producer_epoch: int = 0  # v0+
