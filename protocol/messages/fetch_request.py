"""FetchRequest, v0 to v17.

Made by `make codec` from protocol/schema/01_fetch.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.fetch_response import FetchResponse


class ReplicaState(NamedTuple):
    replica_id: int = -1  # v15+
    replica_epoch: int = -1  # v15+


class FetchPartition(NamedTuple):
    partition: int = 0  # v0+
    current_leader_epoch: int = -1  # v9+
    fetch_offset: int = 0  # v0+
    last_fetched_epoch: int = -1  # v12+
    log_start_offset: int = -1  # v5+
    partition_max_bytes: int = 0  # v0+
    replica_directory_id: bytes = ZERO_UUID  # v17+, tag 0 v17+


class FetchTopic(NamedTuple):
    topic: str = ""  # v0-12
    topic_id: bytes = ZERO_UUID  # v13+
    partitions: Sequence[FetchPartition] = ()  # v0+


class ForgottenTopic(NamedTuple):
    topic: str = ""  # v7-12
    topic_id: bytes = ZERO_UUID  # v13+
    partitions: Sequence[int] = ()  # v7+


class _FetchRequest(NamedTuple):
    cluster_id: str | None = None  # v12+, null v12+, tag 0 v12+
    replica_id: int = -1  # v0-14
    replica_state: ReplicaState = ReplicaState()  # v15+, tag 1 v15+
    max_wait_ms: int = 0  # v0+
    min_bytes: int = 0  # v0+
    max_bytes: int = 2147483647  # v3+
    isolation_level: int = 0  # v4+
    session_id: int = 0  # v7+
    session_epoch: int = -1  # v7+
    topics: Sequence[FetchTopic] = ()  # v0+
    forgotten_topics_data: Sequence[ForgottenTopic] = ()  # v7+
    rack_id: str = ""  # v11+


class FetchRequest(_FetchRequest):
    __slots__ = ()
    ReplicaState: TypeAlias = ReplicaState
    FetchPartition: TypeAlias = FetchPartition
    FetchTopic: TypeAlias = FetchTopic
    ForgottenTopic: TypeAlias = ForgottenTopic
    if TYPE_CHECKING:

        def _answer_(self) -> FetchResponse: ...
