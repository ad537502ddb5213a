"""DescribeConfigsRequest, v0 to v4.

Made by `make codec` from protocol/schema/32_describe_configs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_configs_response import DescribeConfigsResponse


class DescribeConfigsResource(NamedTuple):
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    configuration_keys: Sequence[str] | None = ()  # v0+, null v0+


class _DescribeConfigsRequest(NamedTuple):
    resources: Sequence[DescribeConfigsResource] = ()  # v0+
    include_synonyms: bool = False  # v1+
    include_documentation: bool = False  # v3+


class DescribeConfigsRequest(_DescribeConfigsRequest):
    __slots__ = ()
    DescribeConfigsResource: TypeAlias = DescribeConfigsResource
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeConfigsResponse: ...
