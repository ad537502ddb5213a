"""CreatePartitionsRequest, v0 to v3.

Made by `make codec` from protocol/schema/37_create_partitions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.create_partitions_response import CreatePartitionsResponse


class CreatePartitionsAssignment(NamedTuple):
    broker_ids: Sequence[int] = ()  # v0+


class CreatePartitionsTopic(NamedTuple):
    name: str = ""  # v0+
    count: int = 0  # type: ignore[assignment]  # v0+
    assignments: Sequence[CreatePartitionsAssignment] | None = ()  # v0+, null v0+


class _CreatePartitionsRequest(NamedTuple):
    topics: Sequence[CreatePartitionsTopic] = ()  # v0+
    timeout_ms: int = 0  # v0+
    validate_only: bool = False  # v0+


class CreatePartitionsRequest(_CreatePartitionsRequest):
    __slots__ = ()
    CreatePartitionsAssignment: TypeAlias = CreatePartitionsAssignment
    CreatePartitionsTopic: TypeAlias = CreatePartitionsTopic
    if TYPE_CHECKING:

        def _answer_(self) -> CreatePartitionsResponse: ...
