"""ShareGroupMetadataKey, v11.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ShareGroupMetadataKey(NamedTuple):
    group_id: str = ""  # v11
