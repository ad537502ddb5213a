"""ConsumerGroupTargetAssignmentMemberKey, v7.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ConsumerGroupTargetAssignmentMemberKey(NamedTuple):
    group_id: str = ""  # v7
    member_id: str = ""  # v7
