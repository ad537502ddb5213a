"""GroupMetadataKey, v2.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class GroupMetadataKey(NamedTuple):
    group: str = ""  # v2
