"""CreateAclsRequest, v0 to v3.

Made by `make codec` from protocol/schema/30_create_acls.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.create_acls_response import CreateAclsResponse


class AclCreation(NamedTuple):
    resource_type: int = 0  # v0+
    resource_name: str = ""  # v0+
    resource_pattern_type: int = 3  # v1+
    principal: str = ""  # v0+
    host: str = ""  # v0+
    operation: int = 0  # v0+
    permission_type: int = 0  # v0+


class _CreateAclsRequest(NamedTuple):
    creations: Sequence[AclCreation] = ()  # v0+


class CreateAclsRequest(_CreateAclsRequest):
    __slots__ = ()
    AclCreation: TypeAlias = AclCreation
    if TYPE_CHECKING:

        def _answer_(self) -> CreateAclsResponse: ...
