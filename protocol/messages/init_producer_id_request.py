"""InitProducerIdRequest, v0 to v5.

Made by `make codec` from protocol/schema/22_init_producer_id.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.init_producer_id_response import InitProducerIdResponse


class _InitProducerIdRequest(NamedTuple):
    transactional_id: str | None = ""  # v0+, null v0+
    transaction_timeout_ms: int = 0  # v0+
    producer_id: int = -1  # v3+
    producer_epoch: int = -1  # v3+


class InitProducerIdRequest(_InitProducerIdRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> InitProducerIdResponse: ...
