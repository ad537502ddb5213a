"""A partition worker that owns nothing but rows: it makes the partition table as the cluster view wants it."""

from __future__ import annotations

from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import VIEW_FOLLOWED, RequestKind
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role


class FakeOwner:
    """Plays every partition worker of a node.

    directories   topic-partition directories that a real owner would have, by partition key
    strays        keys of directories that were put aside
    told_new      keys of replicas that the controller said are new
    follows       whether the coordinators come to an end with what they have to forget
    """

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self.directories: dict[str, int] = {}
        self.strays: list[int] = []
        self.is_deaf = False
        self.told_new: list[int] = []
        self.follows = True
        self._told: tuple[int, bool] = (0, False)
        self._mailbox = Mailbox(seat) if seat.role is Role.PARTITION else None

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
                held = self.directories.get(name, partition.key)
                if held != partition.key:
                    self.strays.append(held)
                self.directories[name] = partition.key
                state = RowState.LEADER if partition.leader == node_id else RowState.FOLLOWER
                self._publish(partition.slot, state, partition.key, partition.leader_epoch)
        for doomed in view.doomed:
            row = self._seat.partitions.read(doomed.slot)
            if row is not None and row.state == RowState.DELETED and row.key == doomed.key:
                continue
            name = f"{doomed.topic}-{doomed.partition}"
            if self.directories.get(name) == doomed.key:
                del self.directories[name]
            self._publish(doomed.slot, RowState.DELETED, doomed.key, -1)
        for process_id in self._seat.wiring.partition_ids if self.follows else ():
            self._seat.processes.set_followed(process_id, view.version)
        if self._mailbox is not None:
            self._tell(self._mailbox, (view.version, self.follows))

    def take_new(self, keys: list[int]) -> None:
        """A request of the controller process: those that were refused are opened."""
        self.told_new += keys
        for topic in self._seat.view.read().topics.values():
            for partition in topic.partitions:
                if partition.slot >= 0 and partition.key in keys:
                    self._publish(partition.slot, RowState.LOADING, partition.key, -1)

    def _tell(self, mailbox: Mailbox, news: tuple[int, bool]) -> None:
        """Say to the controller process that rows have moved, as a partition worker does."""
        for process_id in self._seat.changed():
            mailbox.forget(process_id)
        controller_id = self._seat.wiring.controller_id
        if news != self._told and mailbox.tell(controller_id, RequestKind.FOLLOWED, VIEW_FOLLOWED.pack(news[0])):
            self._told = news
        mailbox.flush()

    def _publish(self, slot: int, state: RowState, key: int, leader_epoch: int) -> None:
        self._seat.partitions.publish(slot, PartitionRow(state, key, 1, leader_epoch, *(0,) * 15))
