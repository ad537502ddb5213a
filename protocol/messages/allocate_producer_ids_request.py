"""AllocateProducerIdsRequest, v0.

Made by `make codec` from protocol/schema/67_allocate_producer_ids.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse


class _AllocateProducerIdsRequest(NamedTuple):
    broker_id: int = 0  # v0+
    broker_epoch: int = -1  # v0+


class AllocateProducerIdsRequest(_AllocateProducerIdsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> AllocateProducerIdsResponse: ...
