"""One job for each of many logs, in threads: syncs that are in flight at once share the journal's commits.

Where the system gives no thread (a limit on processes), the caller's does them, one by one.

Runs in: a partition worker that stops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from headrace.limits import CLOSE_THREADS

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(job: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """What the job returned for each item, in their order; what it raised is raised."""
    left: SimpleQueue[tuple[Item, Future[Result]]] = SimpleQueue()
    futures: list[Future[Result]] = [Future() for _ in items]
    for one in zip(items, futures, strict=True):
        left.put(one)

    def do_one() -> bool:
        try:
            item, future = left.get_nowait()
        except Empty:
            return False
        try:
            future.set_result(job(item))
        except BaseException as failure:
            future.set_exception(failure)
        return True

    def work() -> None:
        while do_one():
            pass

    threads = _begin(work, min(CLOSE_THREADS, len(items)))
    try:
        for future in futures:
            if not threads:
                do_one()
            yield future.result()
    finally:
        for thread in threads:
            thread.join()


def _begin(work: Callable[[], None], count: int) -> list[threading.Thread]:
    """As many threads as there are to be had."""
    threads: list[threading.Thread] = []
    for _ in range(count):
        thread = threading.Thread(target=work, name="closing")
        try:
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    return threads
