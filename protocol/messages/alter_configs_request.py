"""AlterConfigsRequest, v0 to v2.

Made by `make codec` from protocol/schema/33_alter_configs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.alter_configs_response import AlterConfigsResponse


class AlterableConfig(NamedTuple):
    name: str = ""  # v0+
    value: str | None = ""  # v0+, null v0+


class AlterConfigsResource(NamedTuple):
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    configs: Sequence[AlterableConfig] = ()  # v0+


class _AlterConfigsRequest(NamedTuple):
    resources: Sequence[AlterConfigsResource] = ()  # v0+
    validate_only: bool = False  # v0+


class AlterConfigsRequest(_AlterConfigsRequest):
    __slots__ = ()
    AlterableConfig: TypeAlias = AlterableConfig
    AlterConfigsResource: TypeAlias = AlterConfigsResource
    if TYPE_CHECKING:

        def _answer_(self) -> AlterConfigsResponse: ...
