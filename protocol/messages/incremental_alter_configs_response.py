"""IncrementalAlterConfigsResponse, v0 to v1.

Made by `make codec` from protocol/schema/44_incremental_alter_configs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AlterConfigsResourceResponse(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+


class _IncrementalAlterConfigsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    responses: Sequence[AlterConfigsResourceResponse] = ()  # v0+


class IncrementalAlterConfigsResponse(_IncrementalAlterConfigsResponse):
    __slots__ = ()
    AlterConfigsResourceResponse: TypeAlias = AlterConfigsResourceResponse
