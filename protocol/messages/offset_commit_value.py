"""OffsetCommitValue, v0 to v4.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class OffsetCommitValue(NamedTuple):
    offset: int = 0  # v0+
    leader_epoch: int = -1  # v3+
    metadata: str = ""  # v0+
    commit_timestamp: int = 0  # v0+
    expire_timestamp: int = -1  # v1
