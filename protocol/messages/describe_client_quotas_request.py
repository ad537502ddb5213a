"""DescribeClientQuotasRequest, v0 to v1.

Made by `make codec` from protocol/schema/48_describe_client_quotas.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse


class ComponentData(NamedTuple):
    entity_type: str = ""  # v0+
    match_type: int = 0  # v0+
    match: str | None = ""  # v0+, null v0+


class _DescribeClientQuotasRequest(NamedTuple):
    components: Sequence[ComponentData] = ()  # v0+
    strict: bool = False  # v0+


class DescribeClientQuotasRequest(_DescribeClientQuotasRequest):
    __slots__ = ()
    ComponentData: TypeAlias = ComponentData
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeClientQuotasResponse: ...
