"""ControlledShutdownResponse, v0 to v3.

Made by `make codec` from protocol/schema/07_controlled_shutdown.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class RemainingPartition(NamedTuple):
    topic_name: str = ""  # v0+
    partition_index: int = 0  # v0+


class _ControlledShutdownResponse(NamedTuple):
    error_code: int = 0  # v0+
    remaining_partitions: Sequence[RemainingPartition] = ()  # v0+


class ControlledShutdownResponse(_ControlledShutdownResponse):
    __slots__ = ()
    RemainingPartition: TypeAlias = RemainingPartition
