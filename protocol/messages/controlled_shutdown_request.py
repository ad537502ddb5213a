"""ControlledShutdownRequest, v0 to v3.

Made by `make codec` from protocol/schema/07_controlled_shutdown.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.controlled_shutdown_response import ControlledShutdownResponse


class _ControlledShutdownRequest(NamedTuple):
    broker_id: int = 0  # v0+
    broker_epoch: int = -1  # v2+


class ControlledShutdownRequest(_ControlledShutdownRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> ControlledShutdownResponse: ...
