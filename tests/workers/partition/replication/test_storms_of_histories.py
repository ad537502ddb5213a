"""Any two histories of a partition: a follower that has joined has its leader's records, or the controller was notified.

Drawn by seed: epochs that were given twice, epochs without a record, marks and log starts anywhere, eras; and while the follower follows,
appends, DeleteRecords, restarts of either process, power losses of either machine, another leader in the middle of a proof; leaders that
come back with less and write over it, also while nothing is in flight; an era that begins while the disk has no room for it; and, as the
last event, a damaged header in the log that is in service.

What is judged, at the end and all the way:

    joined       the same records at the same offsets, from the later one of the two log starts on
    not joined   the controller was notified: no log waits for ever with nobody knowing
    committed    what was below the follower's mark is in its log, unless a leader of a later era follows, or its log start has passed it
    damaged      the controller was notified, or the replica is out of service
    unharmed     where no epoch was given twice, and only what was never committed differs, nobody is notified
"""

import errno
import os
import random

import pytest

from headrace.leader_eras import ERA, era_of
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.state.known_era import ERA_FILE
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import FakeSeat
from tests.support.log_fixtures import batch
from tests.workers.partition.replication.follower_rig import FollowerRig
from tests.workers.partition.replication.test_truncation import Stage, _batches, copy

SEEDS, BLOCK = 100, 10
HEAVY_SEEDS = 4_000
ROUNDS, HASTY_ROUNDS = 60, 6  # in which a follower has to join, after the last event; the first ones wait for no socket
IDLE_TURNS = 3
WAIT_MS = 5  # for what comes over loopback, on a busy machine
REST_TURNS = 40  # until nothing is in flight, at most
DAMAGED_MAGICS = (0, 1, 9, 255)
ROUND_MS = 600  # two are longer than any back-off


def values(log):
    """The batch that has it, by offset."""
    found = {}
    for data in _batches(log):
        base, delta = int.from_bytes(data[:8], "big"), int.from_bytes(data[23:27], "big")
        found.update(dict.fromkeys(range(base, base + delta + 1), data))
    return found


class Storm:
    """One seed."""

    def __init__(self, make_rig, path, ibp, seed):
        self.seed = seed
        self.chance = random.Random(seed)
        self.stage = Stage(make_rig, path, ibp)
        self.rig = self.stage.rig
        self.rig.wait_ms = 0
        self.brokers = [self.stage.broker() for _ in range(2)]
        self.written = 0
        self.number, self.epoch = 1, 0  # who leads, and in which epoch
        self.committed = {}  # by offset, the batch
        self.reported = []
        self.is_damaged = False
        self.story = []

    def put(self, log, epoch, count=None):
        """A batch that is no other's."""
        self.written += 1
        count = count or self.chance.choice([1, 1, 2, 8])
        records = batch(count=count, size=20 + self.written % 50, timestamp_ms=NOW_MS + self.written)
        ((error, _base, _time),) = log.append_as_leader([records], epoch, NOW_MS)
        assert not error

    def grow(self, log, epoch, batches, steps=(0, 1, 1)):
        """Some batches, in epochs from this one on; the last one may have none. Returns the latest."""
        for _ in range(batches):
            epoch += self.chance.choice(steps)
            self.put(log, epoch)
        if self.chance.random() < 0.3:
            epoch += 1
            log.assign_leader_epoch(epoch)
        return epoch

    def begin(self):
        """The histories, and the role."""
        rig, chance = self.rig, self.chance
        rig.follow(leader=0, epoch=0)
        epoch = 0
        for _ in range(chance.randrange(1, 4)):
            epoch += chance.choice([0, 1])
            self.put(rig.log, epoch)
        for led, _leader in self.brokers:
            copy(led, rig.log)
        common = rig.log.log_end_offset
        self.is_clean = chance.random() < 0.3
        own = self.grow(rig.log, epoch, chance.randrange(4))
        latest = own
        for led, _leader in self.brokers:
            first = own + 1 if self.is_clean else epoch
            latest = max(latest, self.grow(led.log, first, chance.randrange(5)))
            start = chance.choice([0, chance.randrange(led.log.log_end_offset + 1)])
            led.log.advance_log_start(min(start, common) if self.is_clean else start)
            led.high_watermark = chance.choice([None, led.log.log_start_offset])
        end = common if self.is_clean else rig.log.log_end_offset
        mark = chance.choice([0, end, chance.randrange(end + 1)])
        rig.replica.high_watermark = min(max(mark, rig.log.log_start_offset), rig.log.log_end_offset)
        rig.replica.publish()
        rig.replica.is_unproven = True
        if chance.random() < 0.5:
            rig.log.flush()
        self.note_committed()
        self.lead(1, latest + self.is_clean + chance.choice([0, 0, 1]))

    def lead(self, number, epoch):
        led = self.brokers[number - 1][0]
        self.number, self.epoch = number, epoch
        if epoch > led.log.epochs.latest:
            led.lead(epoch)
        led.epoch = epoch
        self.rig.follow(leader=number, epoch=epoch)
        self.story.append(
            f"{number} leads {epoch}, {led.log.log_start_offset} {led.log.epochs.entries} {led.log.log_end_offset}"
        )

    def note_committed(self):
        """What is below the mark now, unless the log start has passed it."""
        rig = self.rig
        if 0 not in rig.node.replicas.by_slot or self.is_damaged:
            return
        if era_of(rig.log.known_epoch) < era_of(self.epoch):
            self.committed.clear()  # somebody has decided: its leader's records count
            return
        mark, start, own = rig.replica.high_watermark, rig.log.log_start_offset, values(rig.log)
        self.committed = {offset: data for offset, data in self.committed.items() if offset >= start}
        lost = [offset for offset, data in self.committed.items() if own.get(offset) != data]
        assert not lost, self.complaint(f"committed records are gone: {lost}")
        self.committed.update({offset: own[offset] for offset in own if start <= offset < mark})

    # Events

    def append(self):
        self.put(self.led.log, self.led.epoch)

    def delete_records(self):
        log = self.led.log
        log.advance_log_start(self.chance.randrange(log.log_start_offset, log.log_end_offset + 1))

    def restart_follower(self):
        self.rig.killed()
        self.rig.follow(leader=self.number, epoch=self.epoch)

    def restart_leader(self):
        self.led.restart()
        self.hang_up()

    def lose_leaders_tail(self):
        """Its machine was down for a moment: it leads in the same epoch, with less."""
        self.is_clean = False
        log = self.led.log
        self.led.restart(self.chance.randrange(log.log_start_offset, log.log_end_offset + 1))
        if self.led.epoch > self.led.log.epochs.latest:
            self.led.lead(self.led.epoch)
        self.hang_up()

    def lose_followers_tail(self):
        """Its machine was down. What it has, and knows to be committed, is what its disk says."""
        rig = self.rig
        self.is_clean = False
        for replica in rig.node.replicas.by_slot.values():
            replica.log.abandon()
        rig.node.disk.crash_tree(rig.node.dirs, self.chance)
        rig.killed(FakeSeat(rig.node.dirs, {"inter.broker.protocol.version": self.ibp}))
        self.committed.clear()
        rig.follow(leader=self.number, epoch=self.epoch)

    def rewrite_leaders_tail(self):
        self.lose_leaders_tail()
        for _ in range(self.chance.choice([1, 2, 5])):
            self.append()

    def rest(self, event):
        """The follower backs off while something happens: nothing is in flight when the connection goes."""
        led, rig = self.led, self.rig
        led.leads = False
        for _ in range(REST_TURNS):
            follower = rig.fetchers.by_slot.get(0)
            if follower is None or follower.state in (FollowerState.WAITING, FollowerState.FAILED):
                break
            rig.wait_ms = WAIT_MS
            rig.turn()
        event()
        for _ in range(self.chance.choice([1, 5])):
            rig.turn()
        rig.wait_ms = 0
        led.leads = True

    def restart_leader_at_rest(self):
        self.rest(self.restart_leader)

    def rewrite_leaders_tail_at_rest(self):
        self.rest(self.rewrite_leaders_tail)

    def begin_era_without_room(self):
        """There is some later, and nothing else happens to the partition."""
        node = self.rig.node

        def refuse(_source, target):
            if target.name == ERA_FILE:
                raise OSError(errno.ENOSPC, "injected")

        node.disk.before_rename = refuse
        self.change_leader(is_new_era=True)
        self.note_committed()
        for _ in range(self.chance.choice([5, 20])):
            self.rig.turn()
        node.disk.before_rename = None
        node.tick()
        assert not node.replicas.logs.has_owed_eras, self.complaint("there is room, and an era is owed")

    def damage_header(self):
        """Of the last batch, while the log is in service and nothing is in flight."""
        for _ in range(REST_TURNS):
            self.rig.turn()
        log = self.rig.replica.log
        last = _batches(log)[-1:] if self.rig.replica.state is RowState.FOLLOWER else []
        if not last or log.end_position < len(last[0]):
            return
        self.is_clean, self.is_damaged = False, True
        fd = os.open(path_of(log.directory, log.end_segment, LOG_SUFFIX), os.O_WRONLY)
        os.pwrite(fd, bytes([self.chance.choice(DAMAGED_MAGICS)]), log.end_position - len(last[0]) + 16)
        os.close(fd)
        self.chance.choice([self.restart_leader, self.rewrite_leaders_tail, self.change_leader])()

    def change_leader(self, *, is_new_era=False):
        """In the middle of whatever the follower asks."""
        number = 3 - self.number
        led, before = self.brokers[number - 1][0], self.led
        if self.is_clean:
            start = before.log.log_start_offset
            left = list(dict.fromkeys(data for offset, data in sorted(values(before.log).items()) if offset >= start))
            led.log.restart_at(int.from_bytes(left[0][:8], "big") if left else start)
            if left:
                led.log.append_as_follower(memoryview(bytearray(b"".join(left))), NOW_MS)
                led.log.advance_log_start(start)
            led.high_watermark = None
        epoch = max(self.epoch + 1, led.log.epochs.latest)
        if is_new_era or self.chance.random() < 0.1:
            epoch = (era_of(epoch) + 1) * ERA
        self.lead(number, epoch)

    def hang_up(self):
        leader = self.brokers[self.number - 1][1]
        leader.forget_sessions()
        for session in leader.node.sessions:
            if not session.is_over:
                session.reset()

    @property
    def led(self):
        return self.brokers[self.number - 1][0]

    @property
    def ibp(self):
        return self.rig.node.seat.wiring.settings["inter.broker.protocol.version"]

    EVENTS = (
        append, append, delete_records, restart_follower, restart_leader, lose_leaders_tail, lose_followers_tail, change_leader,
        change_leader, rewrite_leaders_tail, restart_leader_at_rest, rewrite_leaders_tail_at_rest, begin_era_without_room,
    )  # fmt: skip

    # The run

    def run(self):
        self.begin()
        for _ in range(self.chance.choice([0, 0, 1, 2, 4])):
            for _ in range(self.chance.randrange(12)):  # in the middle of something
                self.rig.turn()
            if self.is_over():
                break
            event = self.chance.choice(self.EVENTS)
            self.story.append(event.__name__)
            event(self)
            self.note_committed()
        if self.chance.random() < 0.1 and not self.is_over():
            self.story.append("damage_header")
            self.damage_header()
        for number in range(ROUNDS):
            if self.is_over() or (self.is_joined and not self.is_damaged):
                break
            self.rig.wait_ms = 0 if number < HASTY_ROUNDS else WAIT_MS
            self.rig.settle(IDLE_TURNS)
            self.note_committed()
            self.rig.pass_ms(ROUND_MS)
        self.judge()

    def is_over(self):
        replicas = self.rig.node.replicas
        self.reported += [one.ahead for one in replicas.moved.take_ahead()]
        if self.is_damaged:
            replicas.open_some()
            replica = replicas.by_slot.get(0)
            if replica is not None and (replica.is_doubted or replica.state is RowState.OFFLINE):
                self.reported.append(replica)
        return bool(self.reported)

    @property
    def is_joined(self):
        follower = self.rig.fetchers.by_slot.get(0)
        is_fetching = follower is not None and follower.state is FollowerState.FETCHING and follower.proof is None
        log, led = self.rig.log, self.led.log
        is_same = (log.log_end_offset, log.log_start_offset) == (led.log_end_offset, led.log_start_offset)
        asked = None if follower is None else follower.asked
        return is_fetching and is_same and asked is not None and asked.fetch_offset == log.log_end_offset

    def judge(self):
        if self.is_over():
            assert not self.is_clean, self.complaint("the controller was notified, and nothing was wrong")
            return
        own, theirs = values(self.rig.log), values(self.led.log)
        start = max(self.rig.log.log_start_offset, self.led.log.log_start_offset)
        differ = [offset for offset in own if offset >= start and own[offset] != theirs.get(offset)]
        assert self.rig.log.log_end_offset == self.led.log.log_end_offset, self.complaint(
            "not joined, and nobody was notified"
        )
        assert not differ, self.complaint(f"joined with other records: {differ}")

    def complaint(self, what):
        log, led = self.rig.log, self.led.log
        state = self.rig.fetchers.by_slot.get(0)
        return (
            f"seed {self.seed} ibp {self.ibp}: {what}; follower {log.log_start_offset} {log.epochs.entries} {log.log_end_offset}"
            f" mark {self.rig.replica.high_watermark} {state}; leader {led.log_start_offset} {led.epochs.entries}"
            f" {led.log_end_offset}; {self.story}"
        )

    def close(self):
        self.stage.close()


def run(tmp_path, ibp, seeds):
    for seed in seeds:
        path = tmp_path / str(seed)
        path.mkdir()
        rigs = []

        def make_rig(rigs=rigs, path=path, **settings):
            rigs.append(FollowerRig(path / "follower", settings))
            return rigs[0]

        storm = Storm(make_rig, path, ibp, seed)
        try:
            storm.run()
        finally:
            storm.close()
            rigs[0].close()


@pytest.mark.parametrize("ibp", ["2.6", "3.9"])
@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_who_has_joined_has_the_same_records_or_the_controller_was_notified(tmp_path, ibp, first):
    run(tmp_path, ibp, range(first, first + BLOCK))


@pytest.mark.heavy
@pytest.mark.parametrize("ibp", ["2.6", "3.9"])
@pytest.mark.parametrize("first", range(SEEDS, HEAVY_SEEDS, 20 * BLOCK))
def test_the_same_of_thousands(tmp_path, ibp, first):
    run(tmp_path, ibp, range(first, first + 20 * BLOCK))
