"""Lookups on threads: shared, bounded, and waited for in both directions."""

import threading

import pytest

from headrace.client.failures import SerializerUnavailable
from headrace.client.lookups import LookupNeeded, bound, looked_up, started
from headrace.client.serializers import Str
from headrace.limits import LOOKUPS_MAX
from tests.support.waiting import DEADLINE_S


def test_those_who_need_the_same_wait_for_the_same():
    gate, calls = threading.Event(), []

    def ask():
        calls.append(threading.current_thread().name)
        gate.wait(DEADLINE_S)

    first, second = (started(LookupNeeded("a", "a", ask)) for _ in range(2))
    assert first is second
    gate.set()
    first.result(DEADLINE_S)
    assert calls == ["headrace-lookup"]
    assert started(LookupNeeded("a", "a", lambda: None)) is not first


def test_so_many_run_at_once_and_no_more():
    gate = threading.Event()
    futures = [started(LookupNeeded(key, "", lambda: gate.wait(DEADLINE_S))) for key in range(LOOKUPS_MAX)]
    with pytest.raises(SerializerUnavailable, match=f"schema 7: {LOOKUPS_MAX} lookups are already waiting"):
        started(LookupNeeded("more", "schema 7", lambda: None))
    gate.set()
    for future in futures:
        future.result(DEADLINE_S)
    started(LookupNeeded("more", "", lambda: None)).result(DEADLINE_S)


def test_a_failure_is_that_of_all_who_wait():
    def ask():
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        started(LookupNeeded("a", "a", ask)).result(DEADLINE_S)
    [step] = looked_up(LookupNeeded("a", "schema 7", lambda: None), 3.0)
    assert (step.timeout_s, step.what) == (3.0, "schema 7")
    step.future.result(DEADLINE_S)


def test_a_serializer_without_bind_is_used_as_it_is():
    one = Str()
    assert bound(one, "key", may_block=False) is one

    class Other(Str):
        def bind(self, part, may_block):
            return part, may_block

    assert bound(Other(), "key", may_block=False) == ("key", False)
