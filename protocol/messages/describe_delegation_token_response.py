"""DescribeDelegationTokenResponse, v0 to v3.

Made by `make codec` from protocol/schema/41_describe_delegation_token.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DescribedDelegationTokenRenewer(NamedTuple):
    principal_type: str = ""  # v0+
    principal_name: str = ""  # v0+


class DescribedDelegationToken(NamedTuple):
    principal_type: str = ""  # v0+
    principal_name: str = ""  # v0+
    token_requester_principal_type: str = ""  # v3+
    token_requester_principal_name: str = ""  # v3+
    issue_timestamp: int = 0  # v0+
    expiry_timestamp: int = 0  # v0+
    max_timestamp: int = 0  # v0+
    token_id: str = ""  # v0+
    hmac: bytes = b""  # v0+
    renewers: Sequence[DescribedDelegationTokenRenewer] = ()  # v0+


class _DescribeDelegationTokenResponse(NamedTuple):
    error_code: int = 0  # v0+
    tokens: Sequence[DescribedDelegationToken] = ()  # v0+
    throttle_time_ms: int = 0  # v0+


class DescribeDelegationTokenResponse(_DescribeDelegationTokenResponse):
    __slots__ = ()
    DescribedDelegationTokenRenewer: TypeAlias = DescribedDelegationTokenRenewer
    DescribedDelegationToken: TypeAlias = DescribedDelegationToken
