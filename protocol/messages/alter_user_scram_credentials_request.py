"""AlterUserScramCredentialsRequest, v0.

Made by `make codec` from protocol/schema/51_alter_user_scram_credentials.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse


class ScramCredentialDeletion(NamedTuple):
    name: str = ""  # v0+
    mechanism: int = 0  # v0+


class ScramCredentialUpsertion(NamedTuple):
    name: str = ""  # v0+
    mechanism: int = 0  # v0+
    iterations: int = 0  # v0+
    salt: bytes = b""  # v0+
    salted_password: bytes = b""  # v0+


class _AlterUserScramCredentialsRequest(NamedTuple):
    deletions: Sequence[ScramCredentialDeletion] = ()  # v0+
    upsertions: Sequence[ScramCredentialUpsertion] = ()  # v0+


class AlterUserScramCredentialsRequest(_AlterUserScramCredentialsRequest):
    __slots__ = ()
    ScramCredentialDeletion: TypeAlias = ScramCredentialDeletion
    ScramCredentialUpsertion: TypeAlias = ScramCredentialUpsertion
    if TYPE_CHECKING:

        def _answer_(self) -> AlterUserScramCredentialsResponse: ...
