"""OffsetCommitKey, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class OffsetCommitKey(NamedTuple):
    group: str = ""  # v0-1
    topic: str = ""  # v0-1
    partition: int = 0  # v0-1
