"""The messages as named tuples: a module for each, imported on first use.

`messages.FetchResponse` is the message, `messages.FetchResponse.PartitionData` one of its structs. One class
serves all versions: a field that a version lacks holds its default. Every field has one, so that a message is
written with what matters. Arrays decode to lists, `records` to a memoryview of the frame, uuid to 16 bytes.

The modules are generated (`make codec`); a process that sends two kinds of requests has the classes of two. Type checkers read
`index.py`, which imports all of them. `messages.Request[T]` is any request that a T answers, so that a function which sends
one and returns its response has types for both; it exists in annotations alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from headrace.protocol.message_table import MESSAGES

ZERO_UUID: Final = bytes(16)

if TYPE_CHECKING:
    from headrace.protocol.messages.index import *  # noqa: F403

    _T_co = TypeVar("_T_co", covariant=True)

    class Request(Protocol[_T_co]):
        """A message that a T answers."""

        def _answer_(self) -> _T_co: ...

else:

    def __getattr__(name: str) -> Any:
        if name not in MESSAGES:
            raise AttributeError(f"no message {name} in the schema")
        return class_of(name)


def class_of(name: str) -> Any:
    """The named tuple of a message; its structs are attributes of it.

    raises   KeyError, where the schema has no such message
    """
    module = MESSAGES[name][0]
    found = globals()[name] = getattr(import_module(f"headrace.protocol.messages.{module}"), name)
    return found
