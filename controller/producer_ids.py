"""Producer ids, unique in the cluster: blocks of a thousand from ZooKeeper, handed out one by one.

A block is claimed by a versioned write before its first id is given; what is left of a block when the process
ends is lost, which is allowed: ids are many.

Source: Kafka `ZkProducerIdManager`.
"""

from __future__ import annotations

from headrace.controller import znodes
from headrace.controller.zk import ZkConflict, ZkError, ZkSession

BLOCK = 1000
TRIES_MAX = 20


class ProducerIds:
    """The block at hand."""

    def __init__(self, zk: ZkSession, node_id: int) -> None:
        self._zk = zk
        self._node_id = node_id
        self._next = 0
        self._end = 0

    def take(self) -> int:
        """The next id; raises ZkError, where no block can be had."""
        if self._next >= self._end:
            self._claim()
        self._next += 1
        return self._next - 1

    def _claim(self) -> None:
        for _ in range(TRIES_MAX):
            node = self._zk.get(znodes.PRODUCER_ID_BLOCK)
            if node is None:
                self._zk.ensure(znodes.PRODUCER_ID_BLOCK)
                continue
            first = znodes.decode_producer_id_block(node.data)
            data = znodes.encode_producer_id_block(self._node_id, first, first + BLOCK - 1)
            try:
                self._zk.set(znodes.PRODUCER_ID_BLOCK, data, node.version)
            except ZkConflict:
                continue  # another node claimed it
            self._next, self._end = first, first + BLOCK
            return
        raise ZkError(f"no producer id block in {TRIES_MAX} tries")
