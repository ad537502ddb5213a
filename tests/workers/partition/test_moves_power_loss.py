"""Replicas move between log directories while power is lost, at each call of the disk: what was acknowledged and synced is there.

A life: batches are appended (of one topic each is synced before its answer), moves are begun, goes on beside more of them, now and then the
housekeeper writes its checkpoints. Power is lost at one call, done or not; what was not synced, names too, is lost or kept by
lots. The next life opens what is left, is judged, resumes the move, and is judged again. At the end every acknowledged record
is at its offset, in one directory, and no offset was given to two of them. Of the topic that is not synced a power loss may take
some; what is there after it, and what comes then, stays while the move that was under way comes to its end.

HEADRACE_MOVES_POWER_LOSSES=N makes N rounds instead of some, each with the seed that it prints when it fails.
"""

import os
import random

import pytest

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import LOG_START_OFFSET_FILE, RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE
from headrace.protocol.record_batch import iterate_batches
from headrace.workers.housekeeper.checkpoints import Checkpoints
from headrace.workers.partition.replicas import log_dir_moves, replica_copy
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of
from tests.support.faulty_disk import LosingDisk, PowerLoss
from tests.support.log_fixtures import batch
from tests.workers.partition.replicas.test_log_dir_moves import MovingNode

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("HEADRACE_MOVES_POWER_LOSSES", "60"))
LIVES = 3
SMALL = {"segment.bytes": "3000", "index.interval.bytes": "500"}
VIEW = view_of(("t", 1, {**SMALL, "headrace.flush.before.ack": "true"}), ("u", 1, SMALL))
NAME = TopicPartition("t", 0)
CALLS_OF_A_LIFE = 500  # about


class LosingNode(MovingNode):
    def __init__(self, path, chance):
        self.chance = chance
        self.losing = LosingDisk()
        super().__init__(path)

    def start(self):
        self.disk = self.losing
        return super().start()

    def next_life(self):
        """The machine starts again, with what is left."""
        for replica in self.replicas.by_slot.values():
            replica.log.abandon()
        self.losing.crash_tree(self.dirs, self.chance)
        self.losing.is_off, self.losing.count = False, 0
        self.seat = FakeSeat(self.dirs)
        self.start().follow(VIEW)
        for opened in self.replicas.take_opened():
            if opened.replica.is_doubted:  # the controller process knows that its end was torn
                self.replicas.trust(opened.replica)
        self.moves.resume()

    def checkpoint(self):
        """What the housekeeper writes."""
        log, mark = self.replicas.by_slot[0].log, self.replicas.by_slot[0].high_watermark
        found = Checkpoints(self.losing)
        offsets = {
            RECOVERY_POINT_FILE: log.recovery_point,
            REPLICATION_OFFSET_FILE: mark,
            LOG_START_OFFSET_FILE: log.log_start_offset,
        }
        here = log.directory.parent
        for name, offset in self.chance.sample(sorted(offsets.items()), 2):
            found.write(here, name, {NAME: (TOPIC_ID, offset)})
            found.forget_moved(self.other_dir(0), name, [NAME])

    def delete_records(self, history):
        """Up to an offset, which is checkpointed before the client has its answer."""
        replica = self.replicas.by_slot[0]
        log = replica.log
        offset = self.chance.randrange(log.log_start_offset, replica.high_watermark + 1)
        log.advance_log_start(offset)
        replica.publish()
        Checkpoints(self.losing).write(
            log.directory.parent, LOG_START_OFFSET_FILE, {NAME: (TOPIC_ID, log.log_start_offset)}
        )
        history.deleted_to = log.log_start_offset


def contents(log, label):
    """By offset."""
    found = {}
    for base in log.segment_bases:
        data = (log.directory / f"{base:020d}.log").read_bytes()
        end = log.end_position if base == log.end_segment else len(data)
        for _position, header, whole in iterate_batches(data[:end]):
            assert header.base_offset not in found, f"{label}: offset {header.base_offset} lies twice"
            found[header.base_offset] = bytes(whole[21:])
    return found


class History:
    """What was acknowledged: content by offset."""

    def __init__(self):
        self.acknowledged = {}
        self.number = 0
        self.moved = self.deleted_to = 0

    def append(self, replica):
        self.number += 1
        content = batch(timestamp_ms=NOW_MS + self.number)
        ((error, offset, _time),) = replica.append([content], NOW_MS)
        assert not error
        assert offset not in self.acknowledged, "an offset is given twice"
        self.acknowledged[offset] = bytes(content[21:])

    def judge(self, node, label, slot=0):
        replica = node.replicas.by_slot.get(slot)
        assert replica is not None, f"{label}: not open"
        log = replica.log
        found = contents(log, label)
        wrong = [
            offset for offset, content in self.acknowledged.items()
            if offset >= self.deleted_to and found.get(offset) != content
        ]  # fmt: skip
        assert not wrong, f"{label}: gone or another: {wrong[:5]} of {len(self.acknowledged)}, end {log.log_end_offset}"
        assert log.log_start_offset >= self.deleted_to, f"{label}: what was deleted is back"
        places = [one for one in node.dirs if (one / log.directory.name).is_dir()]
        assert places == [log.directory.parent], f"{label}: {places}"


def live(node, history, loose, chance):
    """Appends, moves, checkpoints."""
    for slot, kept in enumerate((history, loose)):
        for _ in range(chance.randrange(12)):
            kept.append(node.replicas.by_slot[slot])
        if not node.moves.is_moving(slot):
            assert node.alter(slot, node.other_dir(slot), "tu"[slot], 0) == ErrorCode.NONE
    for _ in range(300):
        if not node.moves.is_moving(0) and not node.moves.is_moving(1):
            history.moved += 1
            break
        if chance.random() < 0.3:
            slot = chance.randrange(2)
            (history, loose)[slot].append(node.replicas.by_slot[slot])
        if chance.random() < 0.1:
            node.checkpoint()
        if chance.random() < 0.03:
            node.delete_records(history)
        node.moves.do_work()
    for _ in range(chance.randrange(12)):
        history.append(node.replicas.by_slot[0])
    if chance.random() < 0.5:
        node.checkpoint()


@pytest.fixture
def small_slices(monkeypatch):
    for module in (log_dir_moves, replica_copy):
        monkeypatch.setattr(module, "MOVE_BYTES_PER_CYCLE_MAX", 600)
    monkeypatch.setattr(replica_copy, "MOVE_SYNC_BYTES", 2_000)


def one_round(path, seed):
    """Some lives, each ended by a power loss; the last one goes to its end. Returns how many moves came to theirs."""
    chance = random.Random(seed)
    path.mkdir()
    node, history = LosingNode(path, chance), History()
    node.replicas.follow(VIEW)
    for number in range(LIVES + 1):
        label = f"seed {seed}, life {number}"
        if number < LIVES:
            node.losing.lose_at = chance.randrange(CALLS_OF_A_LIFE)
            node.losing.is_done = chance.random() < 0.5
        else:
            node.losing.lose_at = -1
        node.losing.count = 0
        loose = History()
        loose.acknowledged = contents(node.replicas.by_slot[1].log, label)
        loose.number = (number + 1) * 10_000
        try:
            live(node, history, loose, chance)
            loose.judge(node, label, 1)
        except PowerLoss:
            pass
        node.losing.lose_at = -1
        node.next_life()
        history.judge(node, label)
    while node.moves.is_moving(0):
        assert node.moves.do_work()
    history.judge(node, f"seed {seed}, at the end")
    node.replicas.close()
    node.losing.close()
    return history.moved


def test_what_was_acknowledged_outlives_power_losses_in_the_midst_of_moves(tmp_path, small_slices):
    base = int(os.environ.get("HEADRACE_MOVES_POWER_LOSSES_SEED", "0"))
    moved = sum(one_round(tmp_path / str(seed), seed) for seed in range(base, base + ROUNDS))
    assert moved > ROUNDS, "hardly a move came to its end"
