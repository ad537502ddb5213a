"""A job for each log, in threads or without any."""

import threading
import time

import pytest

from headrace.workers.partition.replicas import closing_threads
from headrace.workers.partition.replicas.closing_threads import in_threads
from tests.support.altered import altered


def threads_of(count):
    """A module `threading` of a system that gives so many threads more."""
    left = [count]

    class Thread(threading.Thread):
        def start(self):
            if not left[0]:
                raise RuntimeError("can't start new thread")
            left[0] -= 1
            super().start()

    return altered(threading, Thread=Thread)


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_each_is_done_once_and_told_in_order_however_many_threads_there_are(monkeypatch, count):
    monkeypatch.setattr(closing_threads, "threading", threads_of(count))
    done = []

    def job(number):
        done.append((number, threading.current_thread() is threading.main_thread()))
        return -number

    assert list(in_threads(job, range(50))) == [-number for number in range(50)]
    assert sorted(number for number, _is_main in done) == list(range(50))
    assert {is_main for _number, is_main in done} == {count == 0}
    assert not [one for one in threading.enumerate() if one.name == "closing"]


def test_without_threads_what_is_done_is_told_one_by_one(monkeypatch):
    monkeypatch.setattr(closing_threads, "threading", threads_of(0))
    done = []
    told = in_threads(done.append, range(3))
    next(told)
    assert done == [0]


@pytest.mark.parametrize("count", [0, 3])
def test_what_a_job_raises_is_raised(monkeypatch, count):
    monkeypatch.setattr(closing_threads, "threading", threads_of(count))
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda number: 1 // number, [1, 0, 1]))


def test_nothing_is_nothing():
    assert list(in_threads(time.sleep, [])) == []
