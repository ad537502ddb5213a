"""Replicas that a reassignment removes: told to go, and named in the topic's node until they have gone.

Runs in: the controller process of the active node; one object a term.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from headrace.controller.active.reassignment.reassignment import Plan
from headrace.controller.active.term import Term
from headrace.controller.cluster.unwanted_replicas import Unwanted, by_partition
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH
from headrace.limits import REASSIGNMENT_STOP_WAIT_MS
from headrace.runtime.tasks import Future

_log = logging.getLogger(__name__)


class Stopping:
    """Those of a term.

    check   has topics looked at again, soon
    """

    def __init__(self, term: Term, check: Callable[[Collection[str]], None]) -> None:
        self._term = term
        self._check = check
        # Unwanted replicas that were told to go, by topic, partition, broker: whether they have gone, and are named still
        self._gone: dict[tuple[str, int, int], bool] = {}

    def forget(self, gone: Collection[int]) -> None:
        """These brokers went: what they were told is told again once they are back."""
        self._gone = {one: is_gone for one, is_gone in self._gone.items() if is_gone or one[2] not in gone}

    async def stop(
        self, name: str, states: Mapping[int, PartitionState], doing: Mapping[int, Plan], unwanted: Unwanted
    ) -> Unwanted:
        """Have replicas deleted, and wait until brokers that are alive have done it, or for so long: they do it later.

        returns   those that are not deleted yet
        """
        term = self._term
        stops: dict[tuple[int, int], int] = {}  # broker, partition -> leader epoch
        for index, made in doing.items():
            epoch = made.state.leader_epoch if made.state is not None else NO_EPOCH
            stops.update(dict.fromkeys(((broker, index) for broker in made.stopped), epoch))
        named = [(broker, index) for index, brokers in unwanted.items() for broker in brokers]
        moved, alive = set(stops), term.known.brokers
        left = {(broker, index) for broker, index in named if not self._gone.get((name, index, broker))} | moved
        for broker, index in named:
            if (broker, index) not in left:
                del self._gone[name, index, broker]
            elif broker in alive and (name, index, broker) not in self._gone:
                self._gone[name, index, broker] = False
                epoch = states[index].leader_epoch if index in states else NO_EPOCH
                stops.setdefault((broker, index), epoch)
        self._gone.update(((name, index, broker), False) for broker, index in moved if broker in alive)
        waiting = {place for place in stops if place[0] in alive}
        all_stopped: Future[None] = Future()

        def on_stopped(broker: int, _topic: str, index: int, error: ErrorCode) -> None:
            if error is not ErrorCode.NONE:
                _log.warning(
                    "replica not deleted topic=%s partition=%d broker=%d error=%s", name, index, broker, error.name
                )
            elif (broker, index) in left:
                left.discard((broker, index))
                if all_stopped.is_done:  # late: the node names it still
                    self._gone[name, index, broker] = True
                    self._check((name,))
                else:
                    self._gone.pop((name, index, broker), None)
            waiting.discard((broker, index))
            if not waiting and not all_stopped.is_done:
                term.tasks.unexpect(all_stopped)
                all_stopped.complete(None)

        if waiting:
            term.tasks.expect(all_stopped, REASSIGNMENT_STOP_WAIT_MS, None)
        for (broker, index), epoch in stops.items():
            term.notices.stop_replica(broker, name, index, epoch, is_deleted=True, on_stopped=on_stopped)
        if waiting:
            await all_stopped
        return by_partition(left)
