"""ElectLeadersResponse, v0 to v2.

Made by `make codec` from protocol/schema/43_elect_leaders.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class PartitionResult(NamedTuple):
    partition_id: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+


class ReplicaElectionResult(NamedTuple):
    topic: str = ""  # v0+
    partition_result: Sequence[PartitionResult] = ()  # v0+


class _ElectLeadersResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v1+
    replica_election_results: Sequence[ReplicaElectionResult] = ()  # v0+


class ElectLeadersResponse(_ElectLeadersResponse):
    __slots__ = ()
    PartitionResult: TypeAlias = PartitionResult
    ReplicaElectionResult: TypeAlias = ReplicaElectionResult
