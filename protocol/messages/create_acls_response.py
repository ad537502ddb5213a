"""CreateAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/30_create_acls.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AclCreationResult(NamedTuple):
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+


class _CreateAclsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    results: Sequence[AclCreationResult] = ()  # v0+


class CreateAclsResponse(_CreateAclsResponse):
    __slots__ = ()
    AclCreationResult: TypeAlias = AclCreationResult
