"""AlterUserScramCredentialsResponse, v0.

Made by `make codec` from protocol/schema/51_alter_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AlterUserScramCredentialsResult(NamedTuple):
    user: str = ""  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+


class _AlterUserScramCredentialsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    results: Sequence[AlterUserScramCredentialsResult] = ()  # v0+


class AlterUserScramCredentialsResponse(_AlterUserScramCredentialsResponse):
    __slots__ = ()
    AlterUserScramCredentialsResult: TypeAlias = AlterUserScramCredentialsResult
