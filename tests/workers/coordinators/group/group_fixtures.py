"""A coordinator with a log, a clock and answers in memory."""

from __future__ import annotations

import itertools
import logging
from types import SimpleNamespace

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request, encode_struct
from headrace.protocol.record_batch import build_batch, parse_header
from headrace.runtime.deadlines import Deadlines
from headrace.shm import layout
from headrace.shm.lag_table import LagTable
from headrace.workers.coordinators.coordinator import (
    Appended,
    AppendFailed,
    Loaded,
    TopicsDeleted,
    Unloaded,
    Upkeep,
)
from headrace.workers.coordinators.effects import Answer, Append, CancelTimer, LogLine, SetTimer
from headrace.workers.coordinators.group.commit_request import read_commit
from headrace.workers.coordinators.group.config import GroupConfig
from headrace.workers.coordinators.group.events import (
    Client,
    Commit,
    CommitTransactional,
    DeleteGroup,
    DeleteOffsets,
    Heartbeat,
    Join,
    Leave,
    MarkerAppended,
    Sync,
)
from headrace.workers.coordinators.group.group_coordinator import GroupCoordinator
from headrace.workers.coordinators.group.rebalance_reason import RebalanceStarted

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
DELAY_MS = 3_000


def subscription(*topics):
    return b"\0\0" + encode_struct(
        "ConsumerProtocolSubscription", 0, messages.ConsumerProtocolSubscription(topics=topics)
    )


def lag_table(rows, sections=1):
    """A lag table in plain memory."""
    size = layout.lag_region_bytes(rows * sections)
    memory = memoryview(bytearray(size))
    layout.lay_out_lag(memory.cast("Q"), rows)
    return LagTable(SimpleNamespace(memory=memory, words=memory.cast("Q"), size_bytes=size, close=lambda: None))


class Desk:
    """Performs the effects of one coordinator.

    log      every record appended, in order
    held     appends whose outcome the test decides, while `holds`
    versions of OffsetCommits, by ticket
    """

    def __init__(self, partitions=4, loading=False, **config):
        self.now_ms = 1_000_000
        self.timers = Deadlines(10_000)
        self.has_timers = True
        self.answers = {}
        self.versions = {}
        self.log = []
        self.held = []
        self.holds = False
        self.error = ErrorCode.NONE
        self.reasons = []
        self._tickets = itertools.count(1)
        self._ids = itertools.count(1)
        self._effects = []
        self.config = GroupConfig(**config)
        self.coordinator = GroupCoordinator(
            "offsets-0",
            self.config,
            lambda: f"id{next(self._ids)}",
            itertools.count(1).__next__,
            lambda: self.has_timers,
            lambda topic, partition: topic.startswith("t") and 0 <= partition < partitions,
        )
        if not loading:
            self.load([])

    def load(self, records):
        """The log has these records, and nothing more."""
        if records:
            batch = build_batch(records, timestamp_ms=self.now_ms)
            self.coordinator.load(parse_header(batch), memoryview(batch))
        self.step(Loaded())

    @property
    def group(self):
        return self.coordinator.groups.get(GROUP)

    @property
    def state(self):
        return self.group.state.value if self.group else None

    def step(self, event):
        """One event, and all that follows from it at once; returns the effects of the event itself."""
        effects = self._stepped(event)
        self.perform()
        return effects

    def _stepped(self, event):
        effects = self.coordinator.step(event, self.now_ms, self.now_ms)
        self._effects += effects
        return effects

    def perform(self):
        while self._effects:
            self._perform_one(self._effects.pop(0))

    def _perform_one(self, effect):
        if isinstance(effect, Answer):
            assert effect.ticket not in self.answers, "answered twice"
            self.answers[effect.ticket] = self._message(effect)
        elif isinstance(effect, SetTimer):
            assert self.timers.schedule_as(effect.serial, effect.deadline_ms, self, effect.event)
        elif isinstance(effect, CancelTimer):
            self.timers.cancel(effect.serial)
        elif isinstance(effect, LogLine):
            logging.getLogger("desk").log(effect.level, effect.text, *effect.arguments)
        elif isinstance(effect, RebalanceStarted):
            self.reasons.append(effect.reason.value)
        else:
            self._take_append(effect)

    def _take_append(self, effect):
        if self.holds:
            self.held.append(effect)
        else:
            self._append(effect, self.error)

    def _message(self, effect: Answer):
        if isinstance(effect.message, bytes):
            return decode_response(ApiKey.OFFSET_COMMIT, self.versions[effect.ticket], effect.message)
        return effect.message

    def _append(self, effect: Append, error):
        if not error:
            self.log += effect.records
        self._stepped(AppendFailed(effect.what, error) if error else Appended(effect.what, len(self.log) - 1))

    def settle(self, error=ErrorCode.NONE):
        """What was held is committed, or fails."""
        held, self.held = self.held, []
        for effect in held:
            self._append(effect, error)
        self.perform()

    def advance(self, milliseconds):
        """Time passes; timers fire at their own times."""
        until = self.now_ms + milliseconds
        while (due := self.timers.next_ms) <= until:
            self.now_ms = max(self.now_ms, due)
            self.tick()
        self.now_ms = until

    def tick(self):
        """What is due now comes."""
        while (due := self.timers.pop_due(self.now_ms)) is not None:
            self.step(due[3])

    def keep_alive(self, ids, milliseconds):
        """Time passes, and these members send their heartbeats."""
        for _ in range(0, milliseconds, 1_000):
            for each in ids:
                self.heartbeat(each)
            self.advance(1_000)

    def ask(self, kind, request, *more):
        """A request becomes an event; returns the ticket."""
        ticket = next(self._tickets)
        self.step(kind(request.group_id, request, *more, ticket))
        return ticket

    # Events of the node

    def unload(self):
        self.step(Unloaded())

    def expire(self):
        """How many offsets went."""
        effects = self.step(Upkeep(self.now_ms))
        return sum(line.arguments[1] for line in effects if isinstance(line, LogLine) and "expired" in line.text)

    def end_transaction(self, producer_id, is_commit):
        self.step(MarkerAppended(producer_id, is_commit))

    def topics_deleted(self, *names):
        self.step(TopicsDeleted(frozenset(names)))

    def delete_group(self, group=GROUP):
        """The ticket, which is answered with an error."""
        ticket = next(self._tickets)
        self.step(DeleteGroup(group, ticket))
        return ticket

    def error_of(self, ticket):
        """Name of the error that a ticket was answered with, None where it still waits."""
        answer = self.answers.get(ticket)
        if answer is None or isinstance(answer, ErrorCode):
            return None if answer is None else answer.name
        code = getattr(answer, "error_code", 0)
        if hasattr(answer, "topics"):
            codes = {row.error_code for topic in answer.topics for row in topic.partitions} or {code}
            assert len(codes) == 1, codes
            code = codes.pop() or code
        return ErrorCode(code).name

    def join(self, member_id="", *, instance=None, version=9, protocols=None, session_ms=SESSION_MS, group=GROUP,
             rebalance_ms=REBALANCE_MS, protocol_type="consumer", client_id="c", reason=None):  # fmt: skip
        row = messages.JoinGroupRequest.JoinGroupRequestProtocol
        if protocols is None:
            protocols = {"range": subscription("t")}
        request = messages.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[row(name=name, metadata=metadata) for name, metadata in protocols.items()],
            reason=reason,
        )
        return self.ask(Join, request, version, Client(client_id, "/10.0.0.1"))

    def sync(self, member_id, generation=None, assignments=None, *, instance=None, version=4, **fields):
        row = messages.SyncGroupRequest.SyncGroupRequestAssignment
        request = messages.SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.group.generation if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
            assignments=[row(member_id=key, assignment=value) for key, value in (assignments or {}).items()],
            **fields,
        )
        return self.ask(Sync, request, version)

    def heartbeat(self, member_id, generation=None, *, instance=None):
        request = messages.HeartbeatRequest(
            group_id=GROUP,
            generation_id=(self.group.generation if self.group else 0) if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        return self.ask(Heartbeat, request)

    def leave(self, *members, version=5):
        row = messages.LeaveGroupRequest.MemberIdentity
        if version < 3:
            request = messages.LeaveGroupRequest(group_id=GROUP, member_id=members[0])
        else:
            rows = [one if isinstance(one, tuple) else (one, None) for one in members]
            request = messages.LeaveGroupRequest(
                group_id=GROUP, members=[row(member_id=each, group_instance_id=instance) for each, instance in rows]
            )
        return self.ask(Leave, request, version)

    def commit(self, offset=5, *, topic="t", partition=0, member_id="", generation=-1, metadata="", retention_ms=-1,
               instance=None, version=8, group=GROUP):  # fmt: skip
        topic_row = messages.OffsetCommitRequest.OffsetCommitRequestTopic
        row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
        request = messages.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=[
                topic_row(
                    name=topic,
                    partitions=[row(partition_index=partition, committed_offset=offset, committed_metadata=metadata)],
                )
            ],
        )
        body = encode_request(ApiKey.OFFSET_COMMIT, version, request)
        return self.send_commit(version, body)

    def send_commit(self, version, body):
        """An OffsetCommit as it came."""
        ticket = next(self._tickets)
        self.versions[ticket] = version
        request = read_commit(version, memoryview(body))
        self.step(Commit(request.group_id, request, ticket))
        return ticket

    def commit_transactional(self, offset, *, producer_id=77, epoch=3, partition=0, generation=-1, member_id="",
                             group=GROUP, topic="t"):  # fmt: skip
        topic_row = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        row = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
        request = messages.TxnOffsetCommitRequest(
            group_id=group,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=generation,
            member_id=member_id,
            topics=[topic_row(name=topic, partitions=[row(partition_index=partition, committed_offset=offset)])],
        )
        return self.ask(CommitTransactional, request)

    def delete_offset(self, topic="t", partition=0, group=GROUP):
        topic_row = messages.OffsetDeleteRequest.OffsetDeleteRequestTopic
        row = messages.OffsetDeleteRequest.OffsetDeleteRequestPartition
        request = messages.OffsetDeleteRequest(
            group_id=group, topics=[topic_row(name=topic, partitions=[row(partition_index=partition)])]
        )
        return self.ask(DeleteOffsets, request)

    def committed(self, partition=0, topic="t", *, stable=False, group=GROUP):
        """(offset, name of the error)"""
        error, found = self.coordinator.fetch(group, [(topic, [partition])], stable)
        if error:
            return None, error.name
        ((_index, row, fault),) = found[topic]
        return row.offset, fault.name

    # Groups in a state

    def stable(self, members=2, **fields):
        """A Stable group of generation 1; returns the member ids, the leader first."""
        ids = self.completing(members, **fields)
        for each in ids[1:]:
            self.sync(each)
        self.sync(ids[0], assignments={each: each.encode() for each in ids})
        assert self.state == "Stable"
        return ids

    def completing(self, members=2, **fields):
        """Everybody joined; the leader's assignment is awaited."""
        tickets = [self.join(version=3, **fields) for _ in range(members)]
        while self.state == "PreparingRebalance":
            self.advance(100)
        answers = [self.answers[ticket] for ticket in tickets]
        assert {answer.error_code for answer in answers} == {0}
        assert self.state == "CompletingRebalance"
        return [answer.member_id for answer in answers]

    def preparing(self, members=2):
        """A Stable group whose leader has begun to join again; the others have not."""
        ids = self.stable(members)
        self.waiting = self.join(ids[0])
        assert self.state == "PreparingRebalance"
        return ids

    def empty(self):
        """A group whose members have left."""
        ids = self.stable(2)
        self.leave(*ids)
        self.advance(1)
        assert self.state == "Empty"
        return ids
