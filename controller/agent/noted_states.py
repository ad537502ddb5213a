"""Partition states that a node writes by itself, each with the note of it: the active controller reads them again.

Runs in: the controller process of every node. State and note are one multi. A note that is written later is forgotten by a process that is
killed in between, and the controller would refuse what expects the version that it has not heard of.

    /brokers/topics/T/partitions/P/state    set, at the version that was read
    /isr_change_notification/isr_change_N   created, as of a leader that changed its ISR

Many partitions share a multi, and its note. Where one of them conflicts each is written alone.

Source: Kafka `KafkaController.processIsrChangeNotification`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.limits import ISR_WRITES_IN_FLIGHT_MAX, NOTED_STATES_PER_COMMIT_MAX
from headrace.runtime.tasks import Tasks


class StateWrite(NamedTuple):
    """A state to be written.

    version   that it expects
    """

    place: tuple[str, int]  # topic and partition
    data: bytes
    version: int


Failures = dict[tuple[str, int], ZkError]  # by topic and partition; ZkConflict: another client wrote it


async def write_noted(zk: ZkSession, writes: Sequence[StateWrite]) -> None:
    """All of them and one note, or nothing. raises   ZkConflict; ZkError"""
    transaction = Transaction()
    for place, data, version in writes:
        transaction.set(znodes.state_path(*place), data, version)
    note = znodes.encode_isr_change([one.place for one in writes])
    transaction.create(znodes.ISR_CHANGE_PREFIX, note, is_sequential=True)
    await zk.commit(transaction)


async def write_each(zk: ZkSession, tasks: Tasks, writes: Sequence[StateWrite]) -> Failures:
    """Write those that can be written; returns why the others were not, or may not have been."""
    failures: Failures = {}
    firsts = iter(range(0, len(writes), NOTED_STATES_PER_COMMIT_MAX))

    async def write_some() -> None:
        for first in firsts:
            part = writes[first : first + NOTED_STATES_PER_COMMIT_MAX]
            failure = await _failure_of(zk, part)
            if isinstance(failure, ZkConflict) and len(part) > 1:
                for one in part:
                    _note(failures, [one], await _failure_of(zk, [one]))
            else:
                _note(failures, part, failure)

    if writes:
        await tasks.share(min(ISR_WRITES_IN_FLIGHT_MAX, len(writes)), write_some)
    return failures


async def _failure_of(zk: ZkSession, writes: Sequence[StateWrite]) -> ZkError | None:
    try:
        await write_noted(zk, writes)
    except ZkError as failure:
        return failure
    return None


def _note(failures: Failures, writes: Sequence[StateWrite], failure: ZkError | None) -> None:
    if failure is not None:
        failures.update((one.place, failure) for one in writes)
