"""CreateDelegationTokenRequest, v0 to v3.

Made by `make codec` from protocol/schema/38_create_delegation_token.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse


class CreatableRenewers(NamedTuple):
    principal_type: str = ""  # v0+
    principal_name: str = ""  # v0+


class _CreateDelegationTokenRequest(NamedTuple):
    owner_principal_type: str | None = ""  # v3+, null v3+
    owner_principal_name: str | None = ""  # v3+, null v3+
    renewers: Sequence[CreatableRenewers] = ()  # v0+
    max_lifetime_ms: int = 0  # v0+


class CreateDelegationTokenRequest(_CreateDelegationTokenRequest):
    __slots__ = ()
    CreatableRenewers: TypeAlias = CreatableRenewers
    if TYPE_CHECKING:

        def _answer_(self) -> CreateDelegationTokenResponse: ...
