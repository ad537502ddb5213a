"""DescribeLogDirsRequest, v0 to v4.

Made by `make codec` from protocol/schema/35_describe_log_dirs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse


class DescribableLogDirTopic(NamedTuple):
    topic: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class _DescribeLogDirsRequest(NamedTuple):
    topics: Sequence[DescribableLogDirTopic] | None = ()  # v0+, null v0+


class DescribeLogDirsRequest(_DescribeLogDirsRequest):
    __slots__ = ()
    DescribableLogDirTopic: TypeAlias = DescribableLogDirTopic
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeLogDirsResponse: ...
