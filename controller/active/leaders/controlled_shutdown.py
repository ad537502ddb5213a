"""A broker asks to go: others lead in its place first, and its followers stop.

Runs in: the controller process of the active node. From when it asks until it is gone, it leads nothing new (`liveness.py`).

    partitions that it leads      another replica that is in sync and stays; the ISR without it
    partitions that it follows    StopReplica, which keeps the files; the ISR without it, the others are notified

After each of the two, brokers that stay have time to take their roles: leaders would wait for a follower that is gone, and who asks
may be the controller itself, with whose end nobody tells them anything for a while.

What it leads still, for nothing else is in sync, is the answer: it asks again, and after its last try it goes all the same.
Partitions with one replica have nowhere to go, and are not named.

Source: Kafka `KafkaController.doControlledShutdown`.
"""

from __future__ import annotations

import logging

from headrace.controller.active.leaders.replica_states import ReplicaStatus
from headrace.controller.active.leaders.state_changes import Partition
from headrace.controller.active.term import Term
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_EPOCH
from headrace.limits import LEADERS_TOLD_MS_MAX

HEARD_POLL_MS = 10

_log = logging.getLogger(__name__)


async def shut_down(term: Term, broker: int, broker_epoch: int) -> list[tuple[str, int]]:
    """Move what a broker leads and follows away; returns what it leads still, topic and partition.

    broker_epoch   of the broker that asks; NO_EPOCH: it does not say
    raises         KafkaError STALE_BROKER_EPOCH, BROKER_NOT_AVAILABLE; ControllerMoved
    """
    registration = term.known.brokers.get(broker)
    if registration is None:
        raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker} is not registered")
    if NO_EPOCH != broker_epoch < registration.epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"broker {broker} epoch {broker_epoch} is stale, expected {registration.epoch}",
        )
    is_first = broker not in term.liveness.shutting_down
    term.liveness.shutting_down.add(broker)
    led, followed = [], []
    for topic, index in _replicated_on(term, broker):
        state = topic.states[index]
        if state is None:
            continue
        if state.leader == broker:
            led.append((topic, index))
        elif is_first or broker in state.isr:
            followed.append((topic, index, broker))
    await term.states.elect_for_shutdown(led)
    await _be_heard(term)
    now = term.known.brokers.get(broker)
    if now is None or now.epoch != registration.epoch:  # what comes back is not stopped for what went
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker} left while its leaders were being moved")
    await term.states.move_replicas(followed, ReplicaStatus.OFFLINE)
    await _be_heard(term)
    left = [
        (topic.name, index)
        for topic, index in _replicated_on(term, broker)
        if (state := topic.states[index]) is not None and state.leader == broker
    ]
    _log.info(
        "broker is shutting down broker=%d led=%d followed=%d left=%d", broker, len(led), len(followed), len(left)
    )
    return left


async def _be_heard(term: Term) -> None:
    """Until every broker that stays has taken its roles, or LEADERS_TOLD_MS_MAX are over."""
    heard, leaving = term.notices.heard(), term.liveness.shutting_down
    for _ in range(LEADERS_TOLD_MS_MAX // HEARD_POLL_MS):
        if all(is_heard() for broker, is_heard in heard.items() if broker not in leaving):
            return
        await term.tasks.sleep(HEARD_POLL_MS)


def _replicated_on(term: Term, broker: int) -> list[Partition]:
    """Partitions that have a replica on a broker, and others."""
    topics = term.known.topics
    return [
        (topics[name], index)
        for name in term.known.topics_on((broker,))
        for index, replicas in enumerate(topics[name].replicas)
        if broker in replicas and len(replicas) > 1
    ]
