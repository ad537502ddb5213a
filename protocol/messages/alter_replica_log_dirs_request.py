"""AlterReplicaLogDirsRequest, v0 to v2.

Made by `make codec` from protocol/schema/34_alter_replica_log_dirs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse


class AlterReplicaLogDirTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[int] = ()  # v0+


class AlterReplicaLogDir(NamedTuple):
    path: str = ""  # v0+
    topics: Sequence[AlterReplicaLogDirTopic] = ()  # v0+


class _AlterReplicaLogDirsRequest(NamedTuple):
    dirs: Sequence[AlterReplicaLogDir] = ()  # v0+


class AlterReplicaLogDirsRequest(_AlterReplicaLogDirsRequest):
    __slots__ = ()
    AlterReplicaLogDirTopic: TypeAlias = AlterReplicaLogDirTopic
    AlterReplicaLogDir: TypeAlias = AlterReplicaLogDir
    if TYPE_CHECKING:

        def _answer_(self) -> AlterReplicaLogDirsResponse: ...
