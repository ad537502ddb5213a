"""/feature, which Apache's brokers read from inter.broker.protocol.version 2.7 on: no feature is finalized.

Runs in: the controller process of the active node, at the begin of its term. What is there is left as it is: a feature that a broker
does not know makes it exit.

Source: Kafka `FeatureZNode`, `KafkaController.enableFeatureVersioning`; KIP-584.
"""

from __future__ import annotations

from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.epoch_guard import EpochGuard
from headrace.controller.zookeeper.errors import ControllerMoved, ZkConflict
from headrace.controller.zookeeper.session import ZkSession

FIRST = (2, 7)
SECOND_FORMAT = (3, 3)


async def ensure(zk: ZkSession, guard: EpochGuard, version: tuple[int, int]) -> None:
    """Create the node, where it is not there; raises ControllerMoved, ZkError

    version   inter.broker.protocol.version
    """
    if version < FIRST or await zk.get(znodes.FEATURE) is not None:
        return
    transaction = guard.begin()
    transaction.create(znodes.FEATURE, znodes.encode_features(2 if version >= SECOND_FORMAT else 1))
    try:
        await guard.commit(transaction)
    except ControllerMoved:
        raise
    except ZkConflict:
        pass  # another client was faster
