"""AlterClientQuotasRequest, v0 to v1.

Made by `make codec` from protocol/schema/49_alter_client_quotas.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse


class EntityData(NamedTuple):
    entity_type: str = ""  # v0+
    entity_name: str | None = ""  # v0+, null v0+


class OpData(NamedTuple):
    key: str = ""  # v0+
    value: float = 0.0  # v0+
    remove: bool = False  # v0+


class EntryData(NamedTuple):
    entity: Sequence[EntityData] = ()  # v0+
    ops: Sequence[OpData] = ()  # v0+


class _AlterClientQuotasRequest(NamedTuple):
    entries: Sequence[EntryData] = ()  # v0+
    validate_only: bool = False  # v0+


class AlterClientQuotasRequest(_AlterClientQuotasRequest):
    __slots__ = ()
    EntityData: TypeAlias = EntityData
    OpData: TypeAlias = OpData
    EntryData: TypeAlias = EntryData
    if TYPE_CHECKING:

        def _answer_(self) -> AlterClientQuotasResponse: ...
