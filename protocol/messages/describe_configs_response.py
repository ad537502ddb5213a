"""DescribeConfigsResponse, v0 to v4.

Made by `make codec` from protocol/schema/32_describe_configs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DescribeConfigsSynonym(NamedTuple):
    name: str = ""  # v1+
    value: str | None = ""  # v1+, null v0+
    source: int = 0  # v1+


class DescribeConfigsResourceResult(NamedTuple):
    name: str = ""  # v0+
    value: str | None = ""  # v0+, null v0+
    read_only: bool = False  # v0+
    is_default: bool = False  # v0
    config_source: int = -1  # v1+
    is_sensitive: bool = False  # v0+
    synonyms: Sequence[DescribeConfigsSynonym] = ()  # v1+
    config_type: int = 0  # v3+
    documentation: str | None = ""  # v3+, null v0+


class DescribeConfigsResult(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    configs: Sequence[DescribeConfigsResourceResult] = ()  # v0+


class _DescribeConfigsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    results: Sequence[DescribeConfigsResult] = ()  # v0+


class DescribeConfigsResponse(_DescribeConfigsResponse):
    __slots__ = ()
    DescribeConfigsSynonym: TypeAlias = DescribeConfigsSynonym
    DescribeConfigsResourceResult: TypeAlias = DescribeConfigsResourceResult
    DescribeConfigsResult: TypeAlias = DescribeConfigsResult
