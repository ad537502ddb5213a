"""ShareGroupMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ShareGroupMetadataValue(NamedTuple):
    epoch: int = 0  # v0+
