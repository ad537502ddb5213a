"""DescribeUserScramCredentialsResponse, v0.

Made by `make codec` from protocol/schema/50_describe_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class CredentialInfo(NamedTuple):
    mechanism: int = 0  # v0+
    iterations: int = 0  # v0+


class DescribeUserScramCredentialsResult(NamedTuple):
    user: str = ""  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    credential_infos: Sequence[CredentialInfo] = ()  # v0+


class _DescribeUserScramCredentialsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    results: Sequence[DescribeUserScramCredentialsResult] = ()  # v0+


class DescribeUserScramCredentialsResponse(_DescribeUserScramCredentialsResponse):
    __slots__ = ()
    CredentialInfo: TypeAlias = CredentialInfo
    DescribeUserScramCredentialsResult: TypeAlias = DescribeUserScramCredentialsResult
