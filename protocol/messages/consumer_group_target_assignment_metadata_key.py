"""ConsumerGroupTargetAssignmentMetadataKey, v6.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ConsumerGroupTargetAssignmentMetadataKey(NamedTuple):
    group_id: str = ""  # v6
