"""ConsumerGroupMemberMetadataKey, v5.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ConsumerGroupMemberMetadataKey(NamedTuple):
    group_id: str = ""  # v5
    member_id: str = ""  # v5
