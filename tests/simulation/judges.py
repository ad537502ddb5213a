"""What has to hold at every step of a cluster: judged from inside, beside what clients see (`history.py`).

    two-leaders         one leader epoch of a partition has one leader, for ever
    early-mark          the high watermark of a leader is at most the log end of every running member of the ISR that ZooKeeper has
    lost-beginning      no log starts later than it was made to
    parted              below their high watermarks all replicas have the same batches: offsets, leader epoch and checksum
    uncommitted-ack     what a client was told to be stored lies below some replica's high watermark

A node that lost power may lack what it had, and it is in the ISR until that is noticed: it counts again once it has left the ISR.
"""

import json
import os

from headrace.protocol.record_batch import HEADER_BYTES, parse_header
from headrace.shm.partition_table import RowState
from headrace.shm.wiring import Role
from tests.simulation.upkeep_clients import CHURNED


class Cursor:
    """How far a replica's files were read: everything before is equal to what others have committed."""

    def __init__(self):
        self.offset = None
        self.base = None  # of the segment
        self.position = 0


class Judges:
    def __init__(self, cluster):
        self._cluster = cluster
        self._kernel = cluster.kernel
        self._leaders = {}  # (partition, epoch) -> node id
        self.committed = {}  # partition -> {base offset: (last offset, epoch, checksum)}
        self.committed_end = {}  # partition -> offset
        self._cursors = {}  # (node id, pid, partition) -> Cursor
        self._weak = {}  # (node id, partition): lost power while in the ISR
        self._marks = {}  # (node id, partition) -> (epoch, mark), as judged last
        self._told = set()
        self.checks = 0

    def anomaly(self, text):
        if text not in self._told:
            self._told.add(text)
            self._kernel.anomaly(text)

    def lost_power(self, node_id):
        for topic, index in self._partitions():
            if node_id in self.isr(topic, index):
                self._weak[node_id, (topic, index)] = None

    def after_step(self, actor):
        """A partition worker has taken a step: what it has is judged."""
        if getattr(actor, "role", None) is not Role.PARTITION or actor.process is None:
            return
        worker = actor.process
        self.checks += 1
        node_id = actor.node.node_id
        for replica in list(worker._replicas.by_slot.values()):
            if replica.state not in (RowState.LEADER, RowState.FOLLOWER):
                continue
            self._judge_replica(actor, node_id, replica)

    def _judge_replica(self, actor, node_id, replica):
        name = (replica.partition.topic, replica.partition.partition)
        if name[0] == CHURNED:  # of many lives
            return
        if replica.state is RowState.LEADER:
            known = self._leaders.setdefault((name, replica.leader_epoch), node_id)
            if known != node_id:
                self.anomaly(f"two-leaders {name}: {known} and {node_id} in epoch {replica.leader_epoch}")
            self._judge_mark(node_id, name, replica)
        else:
            self._judge_follower(node_id, name, replica)
        if name[0] == "log":  # of one life, never compacted, and nobody deletes its records
            if replica.log.log_start_offset:
                self.anomaly(f"lost-beginning {name}: on {node_id} it begins at {replica.log.log_start_offset}")
            self._judge_batches(actor, node_id, name, replica)

    def _judge_mark(self, node_id, name, replica):
        """A leader's mark, when it has moved, where ZooKeeper has it for the leader of this epoch."""
        mark = (replica.leader_epoch, replica.high_watermark)
        if self._marks.get((node_id, name)) == mark:
            return
        self._marks[node_id, name] = mark
        state = self.state(*name)
        if state is None or state["leader"] != node_id or state["leader_epoch"] != replica.leader_epoch:
            return
        for member, one in self._running(name, state["isr"]):
            if one.log.log_end_offset < replica.high_watermark:
                self.anomaly(
                    f"early-mark {name}: {replica.high_watermark} on leader {node_id} in epoch {replica.leader_epoch},"
                    f" and {member} in the ISR {state['isr']} ends at {one.log.log_end_offset}"
                )

    def _judge_follower(self, node_id, name, replica):
        """A member of the ISR has what was committed."""
        end = self.committed_end.get(name, 0)
        if replica.log.log_end_offset >= end:
            return
        state = self.state(*name)
        if state is None:
            return
        in_sync = dict(self._running(name, state["isr"]))
        if node_id in in_sync:
            self.anomaly(
                f"short-replica {name}: {node_id} in the ISR {state['isr']} ends at {replica.log.log_end_offset}, committed {end}"
            )

    def _running(self, name, isr):
        """(node id, replica) of the members of an ISR that run and have all they had."""
        topic, index = name
        for key in [key for key in self._weak if key[1] == name and key[0] not in isr]:
            del self._weak[key]
        for node, worker in self._cluster.partition_workers():
            if node.node_id not in isr or (node.node_id, name) in self._weak:
                continue
            for replica in worker._replicas.by_slot.values():
                is_it = replica.partition.topic == topic and replica.partition.partition == index
                if is_it and replica.state in (RowState.LEADER, RowState.FOLLOWER):
                    yield node.node_id, replica

    def _judge_batches(self, actor, node_id, name, replica):
        mark = min(replica.high_watermark, replica.log.log_end_offset)
        key = (node_id, actor.pid, name)
        cursor = self._cursors.get(key)
        if cursor is None:
            cursor = self._cursors[key] = Cursor()
            cursor.offset = cursor.base = replica.log.log_start_offset
        if cursor.offset >= mark:
            return
        committed = self.committed.setdefault(name, {})
        directory = replica.log.directory
        while cursor.offset < mark:
            batch = _batch_at(directory, cursor)
            if batch is None:
                self.anomaly(f"parted {name}: {node_id} has no batch at {cursor.offset}, its mark is {mark}")
                cursor.offset = mark
                return
            base, last, epoch, crc, size = batch
            known = committed.setdefault(base, (last, epoch, crc))
            if known != (last, epoch, crc):
                self.anomaly(f"parted {name}@{base}: {known} was committed, {node_id} has {(last, epoch, crc)}")
            cursor.offset = last + 1
            cursor.position += size
        if cursor.offset > self.committed_end.get(name, 0):
            self.committed_end[name] = cursor.offset

    def acknowledged(self, topic, partition, last_offset):
        """A client was told that this is stored."""
        if last_offset >= self.committed_end.get((topic, partition), 0):
            self.anomaly(f"uncommitted-ack {topic}-{partition}@{last_offset}")

    # What ZooKeeper has

    def state(self, topic, index):
        node = self._cluster.ensemble.table.tree.nodes.get(f"/brokers/topics/{topic}/partitions/{index}/state")
        return None if node is None else json.loads(node.data)

    def leads(self, host, topic, index):
        """Whether ZooKeeper says so. One that was stopped, or is cut off, does not know yet that another leads."""
        state = self.state(topic, index)
        return state is not None and state["leader"] >= 0 and self._cluster.hosts[state["leader"]] == host

    def isr(self, topic, index):
        state = self.state(topic, index)
        return [] if state is None else state["isr"]

    def is_whole(self):
        """Whether every ISR has every replica."""
        return all(self._is_whole(*name) for name in self._partitions())

    def _is_whole(self, topic, index):
        """No replica is out of sync, and none is being moved."""
        node = self._cluster.ensemble.table.tree.nodes[f"/brokers/topics/{topic}"]
        assigned = json.loads(node.data)
        if assigned.get("adding_replicas") or assigned.get("removing_replicas"):
            return False
        return set(self.isr(topic, index)) >= set(assigned["partitions"][str(index)])

    def _partitions(self):
        """Of all topics, in ZooKeeper's order."""
        nodes = self._cluster.ensemble.table.tree.nodes
        found = []
        for topic in nodes["/brokers/topics"].children:
            below = nodes.get(f"/brokers/topics/{topic}/partitions")
            found += [(topic, int(index)) for index in (below.children if below is not None else ())]
        return found


def _batch_at(directory, cursor):
    """(base, last, epoch, checksum, bytes) of the batch at the cursor, which moves to the next segment where it has to."""
    for _ in range(2):
        try:
            fd = os.open(directory / f"{cursor.base:020d}.log", os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            head = os.pread(fd, HEADER_BYTES, cursor.position)
        finally:
            os.close(fd)
        if len(head) == HEADER_BYTES and any(head):
            header = parse_header(memoryview(head), 0)
            return header.base_offset, header.last_offset, header.partition_leader_epoch, header.crc, header.size_bytes
        if cursor.base == cursor.offset:
            return None
        cursor.base, cursor.position = cursor.offset, 0
    return None
