"""Many logs finished at once: each waits for the disk several times, and a disk syncs many files nearly as fast as one.

Runs in: a partition worker that stops, with CLOSING_THREADS threads; nothing else of it runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet

from headrace.limits import CLOSING_THREADS, IDLE_WAIT_MAX_MS
from headrace.workers.partition.replica import Replica


def finish_logs(
    replicas: Sequence[Replica], beat: Callable[[], None]
) -> Iterator[tuple[Replica, BaseException | None]]:
    """`PartitionLog.finish` of each, in their order, with what it raised.

    beat   called for each, and while one takes long
    """
    with ThreadPoolExecutor(CLOSING_THREADS) as pool:
        for replica, finishing in [(replica, pool.submit(replica.log.finish)) for replica in replicas]:
            yield replica, _outcome(finishing, beat)


def _outcome(finishing: Future[None], beat: Callable[[], None]) -> BaseException | None:
    while True:
        beat()
        try:
            return finishing.exception(IDLE_WAIT_MAX_MS / 1000)
        except NotYet:
            continue
