"""FindCoordinatorRequest, v0 to v6.

Made by `make codec` from protocol/schema/10_find_coordinator.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.find_coordinator_response import FindCoordinatorResponse


class _FindCoordinatorRequest(NamedTuple):
    key: str = ""  # v0-3
    key_type: int = 0  # v1+
    coordinator_keys: Sequence[str] = ()  # v4+


class FindCoordinatorRequest(_FindCoordinatorRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> FindCoordinatorResponse: ...
