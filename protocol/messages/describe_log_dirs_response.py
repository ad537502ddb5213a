"""DescribeLogDirsResponse, v0 to v4.

Made by `make codec` from protocol/schema/35_describe_log_dirs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DescribeLogDirsPartition(NamedTuple):
    partition_index: int = 0  # v0+
    partition_size: int = 0  # v0+
    offset_lag: int = 0  # v0+
    is_future_key: bool = False  # v0+


class DescribeLogDirsTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[DescribeLogDirsPartition] = ()  # v0+


class DescribeLogDirsResult(NamedTuple):
    error_code: int = 0  # v0+
    log_dir: str = ""  # v0+
    topics: Sequence[DescribeLogDirsTopic] = ()  # v0+
    total_bytes: int = -1  # v4+
    usable_bytes: int = -1  # v4+


class _DescribeLogDirsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v3+
    results: Sequence[DescribeLogDirsResult] = ()  # v0+


class DescribeLogDirsResponse(_DescribeLogDirsResponse):
    __slots__ = ()
    DescribeLogDirsPartition: TypeAlias = DescribeLogDirsPartition
    DescribeLogDirsTopic: TypeAlias = DescribeLogDirsTopic
    DescribeLogDirsResult: TypeAlias = DescribeLogDirsResult
