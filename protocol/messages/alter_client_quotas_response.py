"""AlterClientQuotasResponse, v0 to v1.

Made by `make codec` from protocol/schema/49_alter_client_quotas.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class EntityData(NamedTuple):
    entity_type: str = ""  # v0+
    entity_name: str | None = ""  # v0+, null v0+


class EntryData(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    entity: Sequence[EntityData] = ()  # v0+


class _AlterClientQuotasResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    entries: Sequence[EntryData] = ()  # v0+


class AlterClientQuotasResponse(_AlterClientQuotasResponse):
    __slots__ = ()
    EntityData: TypeAlias = EntityData
    EntryData: TypeAlias = EntryData
