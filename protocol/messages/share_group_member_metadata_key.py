"""ShareGroupMemberMetadataKey, v10.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ShareGroupMemberMetadataKey(NamedTuple):
    group_id: str = ""  # v10
    member_id: str = ""  # v10
