"""DescribeUserScramCredentialsRequest, v0.

Made by `make codec` from protocol/schema/50_describe_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.describe_user_scram_credentials_response import DescribeUserScramCredentialsResponse


class UserName(NamedTuple):
    name: str = ""  # v0+


class _DescribeUserScramCredentialsRequest(NamedTuple):
    users: Sequence[UserName] | None = ()  # v0+, null v0+


class DescribeUserScramCredentialsRequest(_DescribeUserScramCredentialsRequest):
    __slots__ = ()
    UserName: TypeAlias = UserName
    if TYPE_CHECKING:

        def _answer_(self) -> DescribeUserScramCredentialsResponse: ...
