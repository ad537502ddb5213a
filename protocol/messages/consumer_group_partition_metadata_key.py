"""ConsumerGroupPartitionMetadataKey, v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ConsumerGroupPartitionMetadataKey(NamedTuple):
    group_id: str = ""  # v4
