"""ShareGroupPartitionMetadataKey, v9.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ShareGroupPartitionMetadataKey(NamedTuple):
    group_id: str = ""  # v9
