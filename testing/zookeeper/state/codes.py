"""ZooKeeper's numbers on the wire: operations, errors, events, permissions, and how a client asks for a kind of node.

Source: ZooKeeper 3.9 `ZooDefs.OpCode`, `KeeperException.Code`, `Watcher.Event.EventType`, `ZooDefs.Perms`, `CreateMode`.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

EVENT_XID: Final = -1  # in the header of what was not asked for: a watch that fired
PING_XID: Final = -2
SYNC_CONNECTED: Final = 3  # the state that every event says: the client is connected
ANY_VERSION: Final = -1
MULTI_END: Final = -1  # where a multi-operation's header has its type


class Operation(IntEnum):
    """The type of a request."""

    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN_2 = 12
    CHECK = 13
    MULTI = 14
    CREATE_2 = 15
    RECONFIG = 16
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    CREATE_CONTAINER = 19
    CREATE_TTL = 21
    MULTI_READ = 22
    AUTH = 100
    SET_WATCHES = 101
    GET_EPHEMERALS = 103
    GET_ALL_CHILDREN_NUMBER = 104
    SET_WATCHES_2 = 105
    ADD_WATCH = 106
    CLOSE_SESSION = -11


class Code(IntEnum):
    """The error in the header of a reply."""

    OK = 0
    RUNTIME_INCONSISTENCY = -2
    MARSHALLING_ERROR = -5
    UNIMPLEMENTED = -6
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    INVALID_ACL = -114
    AUTH_FAILED = -115
    NO_WATCHER = -121
    RECONFIG_DISABLED = -123
    THROTTLED = -127


class EventType(IntEnum):
    """What a watch says."""

    CREATED = 1
    DELETED = 2
    DATA_CHANGED = 3
    CHILDREN_CHANGED = 4


class Perms(IntFlag):
    """What an ACL entry allows."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16
    ALL = 31


class CreateMode(IntEnum):
    """The flags of a create."""

    PERSISTENT = 0
    EPHEMERAL = 1
    PERSISTENT_SEQUENTIAL = 2
    EPHEMERAL_SEQUENTIAL = 3
    CONTAINER = 4
    PERSISTENT_WITH_TTL = 5
    PERSISTENT_SEQUENTIAL_WITH_TTL = 6

    @property
    def is_ephemeral(self) -> bool:
        return self in (CreateMode.EPHEMERAL, CreateMode.EPHEMERAL_SEQUENTIAL)

    @property
    def is_sequential(self) -> bool:
        return self in (CreateMode.PERSISTENT_SEQUENTIAL, CreateMode.EPHEMERAL_SEQUENTIAL)


class ZooKeeperRefusal(Exception):
    """An operation's error, which goes into its reply."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.name)
        self.code = code
