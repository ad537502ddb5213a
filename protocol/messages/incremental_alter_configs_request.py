"""IncrementalAlterConfigsRequest, v0 to v1.

Made by `make codec` from protocol/schema/44_incremental_alter_configs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse


class AlterableConfig(NamedTuple):
    name: str = ""  # v0+
    config_operation: int = 0  # v0+
    value: str | None = ""  # v0+, null v0+


class AlterConfigsResource(NamedTuple):
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    configs: Sequence[AlterableConfig] = ()  # v0+


class _IncrementalAlterConfigsRequest(NamedTuple):
    resources: Sequence[AlterConfigsResource] = ()  # v0+
    validate_only: bool = False  # v0+


class IncrementalAlterConfigsRequest(_IncrementalAlterConfigsRequest):
    __slots__ = ()
    AlterableConfig: TypeAlias = AlterableConfig
    AlterConfigsResource: TypeAlias = AlterConfigsResource
    if TYPE_CHECKING:

        def _answer_(self) -> IncrementalAlterConfigsResponse: ...
