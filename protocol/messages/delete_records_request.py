"""DeleteRecordsRequest, v0 to v2.

Made by `make codec` from protocol/schema/21_delete_records.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.delete_records_response import DeleteRecordsResponse


class DeleteRecordsPartition(NamedTuple):
    partition_index: int = 0  # v0+
    offset: int = 0  # v0+


class DeleteRecordsTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[DeleteRecordsPartition] = ()  # v0+


class _DeleteRecordsRequest(NamedTuple):
    topics: Sequence[DeleteRecordsTopic] = ()  # v0+
    timeout_ms: int = 0  # v0+


class DeleteRecordsRequest(_DeleteRecordsRequest):
    __slots__ = ()
    DeleteRecordsPartition: TypeAlias = DeleteRecordsPartition
    DeleteRecordsTopic: TypeAlias = DeleteRecordsTopic
    if TYPE_CHECKING:

        def _answer_(self) -> DeleteRecordsResponse: ...
