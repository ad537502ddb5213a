"""DescribeDelegationTokenRequest, v0 to v3.

Made by `make codec` from protocol/schema/41_describe_delegation_token.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_delegation_token_response import DescribeDelegationTokenResponse


class DescribeDelegationTokenOwner(NamedTuple):
    principal_type: str = ""  # v0+
    principal_name: str = ""  # v0+


class _DescribeDelegationTokenRequest(NamedTuple):
    owners: Sequence[DescribeDelegationTokenOwner] | None = ()  # v0+, null v0+


class DescribeDelegationTokenRequest(_DescribeDelegationTokenRequest):
    __slots__ = ()
    DescribeDelegationTokenOwner: TypeAlias = DescribeDelegationTokenOwner
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeDelegationTokenResponse: ...
