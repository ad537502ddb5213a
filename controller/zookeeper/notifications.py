"""Numbered nodes by which brokers tell the active controller something: below /isr_change_notification, /log_dir_event_notification.

Runs in: the controller process of the active node, which removes them once they were followed. Removed before everything is read, at
the begin of a term, they say nothing that is not read then.

Source: Kafka `KafkaZkClient.deleteIsrChangeNotifications`, `deleteLogDirEventNotifications`.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict
from headrace.controller.zookeeper.session import ZkSession
from headrace.limits import NOTIFICATIONS_REMOVED_MAX


async def clear(zk: ZkSession, guard: EpochGuard) -> None:
    """Remove what was reported to the controller before; raises ControllerMoved, ZkError"""
    for parent in (znodes.ISR_CHANGES, znodes.LOG_DIR_EVENTS):
        names = await zk.children(parent, watch=True)
        await remove(guard, [f"{parent}/{name}" for name in names])


async def remove(guard: EpochGuard, paths: Sequence[str]) -> None:
    """Remove nodes, those that are still there; raises ControllerMoved, ZkError"""
    for first in range(0, len(paths), NOTIFICATIONS_REMOVED_MAX):
        part = paths[first : first + NOTIFICATIONS_REMOVED_MAX]
        try:
            await _delete(guard, part)
        except ControllerMoved:
            raise
        except ZkConflict:  # the controller before us was not done with it
            for path in part:
                await _delete_one(guard, path)


async def _delete_one(guard: EpochGuard, path: str) -> None:
    try:
        await _delete(guard, [path])
    except ControllerMoved:
        raise
    except ZkConflict:
        pass


async def _delete(guard: EpochGuard, paths: Sequence[str]) -> None:
    transaction = guard.begin()
    for path in paths:
        transaction.delete(path)
    await guard.commit(transaction)
