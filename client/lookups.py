"""What a serializer has to look up, such as a schema in a registry: asked on a thread, once for all callers that need it.

    a serializer     bind(part, may_block)  ->  one that raises LookupNeeded where it would block
    a client         catches it, waits for `started(needed)`, and calls again: what was looked up is known now

So a serializer needs no asyncio of its own, no event loop is blocked, and a record whose schema is known is serialized at once. The
threads are daemons: an interpreter that ends does not wait for a registry.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from headrace.client.failures import SerializerUnavailable
from headrace.client.serializers import Part
from headrace.client.steps import Heard, Steps
from headrace.limits import LOOKUPS_MAX

S = TypeVar("S")

_running: Final[dict[Hashable, Future[None]]] = {}


class LookupNeeded(Exception):
    """A serializer does not know something yet.

    key    of what is looked up: other callers that need it wait for the same lookup
    what   in words, for `health`
    ask    blocks until it is known; raises what the record, or the caller, is to have
    """

    def __init__(self, key: Hashable, what: str, ask: Callable[[], object]) -> None:
        super().__init__(what)
        self.key = key
        self.what = what
        self.ask = ask


@runtime_checkable
class Bindable(Protocol):
    """A serializer that has to know which part of a record it is for, or that may block."""

    def bind(self, part: Part, may_block: bool) -> Any: ...


def bound(serializer: S, part: Part, may_block: bool) -> S:
    """A serializer as a client uses it."""
    if not isinstance(serializer, Bindable):
        return serializer
    made: S = serializer.bind(part, may_block)
    return made


def started(needed: LookupNeeded) -> Future[None]:
    """The lookup, on a thread; the one that runs already, if there is one. raises SerializerUnavailable, where too many do"""
    running = _running.get(needed.key)
    if running is not None:
        return running
    if len(_running) >= LOOKUPS_MAX:
        raise SerializerUnavailable(f"{needed.what}: {LOOKUPS_MAX} lookups are already waiting")
    future: Future[None] = Future()
    _running[needed.key] = future

    def look_up() -> None:
        try:
            needed.ask()
        except BaseException as failure:
            _running.pop(needed.key, None)
            future.set_exception(failure)
        else:
            _running.pop(needed.key, None)
            future.set_result(None)

    threading.Thread(target=look_up, name="headrace-lookup", daemon=True).start()
    return future


def looked_up(needed: LookupNeeded, timeout_s: float) -> Steps[None]:
    """Until it is known. raises WaitTimedOut, and what the lookup raises"""
    yield Heard(started(needed), timeout_s, needed.what)


os.register_at_fork(after_in_child=_running.clear)  # the threads are the parent's
