"""CreatePartitionsResponse, v0 to v3.

Made by `make codec` from protocol/schema/37_create_partitions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class CreatePartitionsTopicResult(NamedTuple):
    name: str = ""  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = None  # v0+, null v0+


class _CreatePartitionsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    results: Sequence[CreatePartitionsTopicResult] = ()  # v0+


class CreatePartitionsResponse(_CreatePartitionsResponse):
    __slots__ = ()
    CreatePartitionsTopicResult: TypeAlias = CreatePartitionsTopicResult
