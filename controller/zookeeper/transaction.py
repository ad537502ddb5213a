"""Writes that happen together or not at all, as plain data.

Runs in: the controller process. Filled by the part that decides, carried out by `ZkSession.commit` in one ZooKeeper
`multi`; a fake in the tests carries out the same.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

ANY_VERSION = -1


class Action(Enum):
    """What an operation does."""

    CHECK = "check"
    CREATE = "create"
    SET = "set"
    DELETE = "delete"


class Operation(NamedTuple):
    """One line of a transaction."""

    action: Action
    path: str
    data: bytes = b""
    version: int = ANY_VERSION  # expected, of CHECK, SET and DELETE
    is_ephemeral: bool = False  # of CREATE
    is_sequential: bool = False  # of CREATE: ZooKeeper appends ten digits that count up


class Transaction:
    """Operations in the order in which ZooKeeper checks them."""

    __slots__ = ("operations",)

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def check(self, path: str, version: int) -> None:
        self.operations.append(Operation(Action.CHECK, path, version=version))

    def create(self, path: str, data: bytes = b"", is_ephemeral: bool = False, is_sequential: bool = False) -> None:
        self.operations.append(
            Operation(Action.CREATE, path, data, is_ephemeral=is_ephemeral, is_sequential=is_sequential)
        )

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> None:
        self.operations.append(Operation(Action.SET, path, data, version))

    def delete(self, path: str, version: int = ANY_VERSION) -> None:
        self.operations.append(Operation(Action.DELETE, path, version=version))
