"""DescribeClientQuotasResponse, v0 to v1.

Made by `make codec` from protocol/schema/48_describe_client_quotas.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class EntityData(NamedTuple):
    entity_type: str = ""  # v0+
    entity_name: str | None = ""  # v0+, null v0+


class ValueData(NamedTuple):
    key: str = ""  # v0+
    value: float = 0.0  # v0+


class EntryData(NamedTuple):
    entity: Sequence[EntityData] = ()  # v0+
    values: Sequence[ValueData] = ()  # v0+


class _DescribeClientQuotasResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    entries: Sequence[EntryData] | None = ()  # v0+, null v0+


class DescribeClientQuotasResponse(_DescribeClientQuotasResponse):
    __slots__ = ()
    EntityData: TypeAlias = EntityData
    ValueData: TypeAlias = ValueData
    EntryData: TypeAlias = EntryData
