"""Whatever happened, a coordinator that reads the log knows what the one before it knew. (Transactions are not served yet.)"""

import random

from headrace.errors import ErrorCode
from headrace.protocol.record_batch import build_batch, parse_header
from headrace.workers.coordinators.coordinator import Appended, AppendFailed
from headrace.workers.coordinators.group.loader import Loader
from headrace.workers.coordinators.group.state import GroupState
from tests.workers.coordinators.group.group_fixtures import (
    DELAY_MS,
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Desk,
    subscription,
)

HISTORIES = 1_500
ACTIONS = [
    "commit_back",
    "join",
    "static",
    "stable",
    "leave",
    "beat",
    "rejoin",
    "delete_offset",
    "delete_group",
    "topic_gone",
    "expire",
    "wait",
    "wait_long",
    "hold",
    "settle",
    "fail",
    "mend",
    *["commit"] * 3,
]


class Historian(Desk):
    """A desk that writes what it appends as the log has it.

    batches   of the log
    refuses   whether appends are refused now; those that are held stand in the log already
    lost      whether a record of a group's members was refused: memory knows more than the log, as in Kafka
    """

    def __init__(self, **config):
        super().__init__(**config)
        self.batches = []
        self.refuses = False
        self.lost = False

    def _take_append(self, effect):
        if self.refuses:
            self.lost |= any(key[1] == 2 or value is None for key, value in effect.records)
            self._stepped(AppendFailed(effect.what, ErrorCode.NOT_ENOUGH_REPLICAS))
            return
        offset = self._write(effect)
        if self.holds:
            self.held.append((effect, offset))
        else:
            self._stepped(Appended(effect.what, offset))

    def _write(self, append):
        self.batches.append(build_batch(append.records, base_offset=len(self.log)))
        self.log += append.records
        return len(self.log) - 1

    def settle(self):
        self.holds = False
        held, self.held = self.held, []
        for effect, offset in held:
            self._stepped(Appended(effect.what, offset))
        self.perform()

    def loaded(self):
        """The groups that a successor has."""
        loader = Loader("offsets")
        for batch in self.batches:
            loader.take(parse_header(batch), memoryview(batch))
        groups = loader.finish(self.now_ms)
        assert not loader.faults
        return groups


def offsets_of(groups):
    return {group_id: group.offsets for group_id, group in groups.items() if group.offsets}


def membership_of(group):
    """What of a group is in the log, where it is Stable, or Empty after a generation."""
    if group is None or group.state.value not in ("Stable", "Empty") or not group.generation:
        return None
    message = group.to_message()
    return message if group.state is GroupState.EMPTY else message._replace(current_state_timestamp=0)


def member_of(desk, chance):
    return chance.choice(list(desk.group.members)) if desk.group and desk.group.members else ""


def generation_of(desk, member_id):
    return desk.group.generation if member_id else -1


def stabilise(desk):
    """Everyone joins and gets an assignment."""
    for _ in range(4):
        if desk.state == "PreparingRebalance":
            for member in list(desk.group.members.values()):
                if member.join_ticket is None:
                    desk.join(member.member_id, instance=member.instance_id, version=5)
            desk.advance(DELAY_MS)
    if desk.state == "CompletingRebalance":
        leader = desk.group.members[desk.group.leader]
        given = {each: each.encode() for each in desk.group.members}
        for member in list(desk.group.members.values()):
            if member is not leader:
                desk.sync(member.member_id, instance=member.instance_id)
        desk.sync(leader.member_id, assignments=given, instance=leader.instance_id)


def step(desk, action, chance):
    member_id = member_of(desk, chance)
    partition = chance.randrange(4)
    if action == "commit":
        retention_ms = chance.choice([-1, -1, 2_000])
        desk.commit(len(desk.log), partition=partition, member_id=member_id, generation=generation_of(desk, member_id),
                    metadata="m" * partition, retention_ms=retention_ms,
                    topic=chance.choice(["t", "t", "t2"]), version=3 if retention_ms > 0 else 8)  # fmt: skip
    elif action == "commit_back":
        desk.commit(0, partition=partition, member_id=member_id, generation=generation_of(desk, member_id))
    elif action == "join":
        desk.join(version=3)
    elif action == "static":
        topics = chance.choice(["t", "t2"])
        desk.join(
            instance=chance.choice("xy"),
            protocols={"range": subscription(topics)},
            version=chance.choice([5, 9]),
        )
    elif action == "stable":
        stabilise(desk)
    elif action == "leave" and member_id:
        desk.leave(member_id)
    elif action == "beat" and member_id:
        desk.heartbeat(member_id)
    elif action == "rejoin" and member_id:
        desk.join(member_id, instance=desk.group.members[member_id].instance_id, version=5,
                  protocols={"range": subscription(chance.choice(["t", "t2"]))})  # fmt: skip
    elif action == "delete_offset":
        desk.delete_offset(partition=partition)
    elif action == "delete_group":
        desk.delete_group()
    elif action == "topic_gone":
        desk.topics_deleted("t2")
    elif action == "expire":
        desk.expire()
    elif action == "wait":
        desk.advance(chance.choice([100, DELAY_MS]))
    elif action == "wait_long":
        desk.advance(chance.choice([SESSION_MS, REBALANCE_MS]))
    elif action == "hold":
        desk.holds = True
    elif action == "settle":
        desk.settle()
    elif action in ("fail", "mend"):
        desk.refuses = action == "fail"
    desk.perform()
    return action


def test_after_any_history_a_reload_finds_what_was_there():
    compared = 0
    for seed in range(HISTORIES):
        chance = random.Random(seed)
        desk = Historian(retention_ms=30_000)
        story = [step(desk, chance.choice(ACTIONS), chance) for _ in range(chance.randrange(3, 60))]
        desk.settle()
        groups, found = desk.coordinator.groups, desk.loaded()
        told = f"seed={seed} {' '.join(story)}"
        assert not any(group.in_flight for group in groups.values()), told
        if desk.lost:
            continue
        assert offsets_of(found) == offsets_of(groups), told
        before = membership_of(desk.group)
        if before is not None:
            assert membership_of(found.get(GROUP)) == before, told
            compared += 1
        elif desk.group is None:
            assert membership_of(found.get(GROUP)) is None, told
    assert compared > HISTORIES // 10
