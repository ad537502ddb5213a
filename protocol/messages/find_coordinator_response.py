"""FindCoordinatorResponse, v0 to v6.

Made by `make codec` from protocol/schema/10_find_coordinator.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class Coordinator(NamedTuple):
    key: str = ""  # v4+
    node_id: int = 0  # v4+
    host: str = ""  # v4+
    port: int = 0  # v4+
    error_code: int = 0  # v4+
    error_message: str | None = ""  # v4+, null v4+


class _FindCoordinatorResponse(NamedTuple):
    throttle_time_ms: int = 0  # v1+
    error_code: int = 0  # v0-3
    error_message: str | None = ""  # v1-3, null v1-3
    node_id: int = 0  # v0-3
    host: str = ""  # v0-3
    port: int = 0  # v0-3
    coordinators: Sequence[Coordinator] = ()  # v4+


class FindCoordinatorResponse(_FindCoordinatorResponse):
    __slots__ = ()
    Coordinator: TypeAlias = Coordinator
