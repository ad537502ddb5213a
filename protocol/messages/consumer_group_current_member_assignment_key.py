"""ConsumerGroupCurrentMemberAssignmentKey, v8.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ConsumerGroupCurrentMemberAssignmentKey(NamedTuple):
    group_id: str = ""  # v8
    member_id: str = ""  # v8
