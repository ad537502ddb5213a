"""A partition worker that owns nothing but rows: it makes the partition table as the cluster view wants it."""

from __future__ import annotations

from headrace.shm.partition_table import PartitionRow, RowState
from headrace.shm.seat import Seat


class FakeOwner:
    """Plays every partition worker of a node.

    directories   topic-partition directories that a real owner would have, by partition key
    """

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self.directories: dict[str, int] = {}
        self.is_deaf = False

    def follow(self) -> None:
        """One look at the view."""
        if self.is_deaf:
            return
        view = self._seat.view.read()
        node_id = self._seat.wiring.settings["broker.id"]
        for topic in view.topics.values():
            for partition in topic.partitions:
                if partition.slot < 0:
                    continue
                name = f"{topic.name}-{partition.index}"
                held = self.directories.setdefault(name, partition.key)
                assert held == partition.key, f"{name}: a directory of another topic id is in the way"
                state = RowState.LEADER if partition.leader == node_id else RowState.FOLLOWER
                self._publish(partition.slot, state, partition.key, partition.leader_epoch)
        for doomed in view.doomed:
            row = self._seat.partitions.read(doomed.slot)
            if row is not None and row.state == RowState.DELETED and row.key == doomed.key:
                continue
            self.directories.pop(f"{doomed.topic}-{doomed.partition}", None)
            self._publish(doomed.slot, RowState.DELETED, doomed.key, -1)

    def _publish(self, slot: int, state: RowState, key: int, leader_epoch: int) -> None:
        self._seat.partitions.publish(slot, PartitionRow(state, key, 1, leader_epoch, *(0,) * 15))
