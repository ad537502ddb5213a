"""The coordinator of a model's groups: joins that wait for all members, generations, sessions, committed offsets.

    group.coordinator   node id; another one: NOT_COORDINATOR
    groups.committed    (group, partition) -> (offset, leader epoch)
    groups.commits      all of them, in order

As `GroupCoordinator` of Kafka: a member that is late, for its session or for a rebalance, is removed; a static one that comes again takes
its place, and the one before is fenced.
"""

from __future__ import annotations

import itertools

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey


class Member:
    def __init__(self, member_id, instance_id):
        self.member_id, self.instance_id = member_id, instance_id
        self.protocols = []
        self.session_s = 45.0
        self.rebalance_s = 300.0
        self.respond_join = self.respond_sync = None
        self.seen_s = 0.0


class Group:
    def __init__(self):
        self.members = {}
        self.generation = 0
        self.state = "empty"
        self.leader = ""
        self.protocol = ""
        self.shares = {}
        self.deadline = object()


class ModelGroups:
    def __init__(self, cluster):
        self.cluster = cluster
        self.coordinator = 0
        self.requires_member_id = True
        self.groups = {}
        self.committed = {}
        self.commits = []
        self._ids = itertools.count(1)

    def handle(self, broker, api_key, version, request, respond, code):
        handler = getattr(self, f"_{api_key.name.lower()}")
        if api_key is ApiKey.FIND_COORDINATOR:
            respond(handler(version, request, code))
            return
        if not code and broker.node_id != self.coordinator:
            code = ErrorCode.NOT_COORDINATOR
        handler(version, request, respond, code, self.groups.setdefault(request.group_id, Group()))

    def _find_coordinator(self, version, request, code):
        kind = messages.FindCoordinatorResponse
        is_group = request.key_type == 0
        broker = self.cluster.brokers[self.coordinator if is_group else self.cluster.transactions.coordinator]
        code = code or (0 if broker.is_up else ErrorCode.COORDINATOR_NOT_AVAILABLE)
        at = {"node_id": broker.node_id, "host": broker.host, "port": broker.port, "error_code": code}
        if version >= 4:
            return kind(coordinators=[kind.Coordinator(key=request.coordinator_keys[0], **at)])
        return kind(**at)

    def _join_group(self, version, request, respond, code, group):
        kind = messages.JoinGroupResponse
        member_id, instance_id = request.member_id, request.group_instance_id

        def refuse(code, member_id=member_id):
            respond(kind(error_code=code, member_id=member_id))

        if code:
            refuse(code)
            return
        if instance_id is not None:
            known = next((one for one in group.members.values() if one.instance_id == instance_id), None)
            if known is not None and member_id and known.member_id != member_id:
                refuse(ErrorCode.FENCED_INSTANCE_ID)
                return
            if known is not None and not member_id:
                member_id = f"{instance_id}-{next(self._ids)}"
                del group.members[known.member_id]
                known.member_id = member_id
                group.members[member_id] = known
        elif not member_id and version >= 4 and self.requires_member_id:
            refuse(ErrorCode.MEMBER_ID_REQUIRED, f"member-{next(self._ids)}")
            return
        elif member_id and member_id not in group.members and not member_id.startswith("member-"):
            refuse(ErrorCode.UNKNOWN_MEMBER_ID)
            return
        member_id = member_id or f"member-{next(self._ids)}"
        member = group.members.setdefault(member_id, Member(member_id, instance_id))
        member.protocols = [(one.name, bytes(one.metadata)) for one in request.protocols]
        member.session_s, member.rebalance_s = request.session_timeout_ms / 1000, request.rebalance_timeout_ms / 1000
        member.seen_s = self.cluster.network.now_s
        member.respond_join = respond
        self.rebalance(group)
        self._complete_if_all(group)

    def rebalance(self, group):
        """All are to join again."""
        if group.state == "joining":
            return
        for member in group.members.values():
            if member.respond_sync:
                respond, member.respond_sync = member.respond_sync, None
                respond(messages.SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        group.state = "joining"
        token = group.deadline = object()
        wait_s = max(one.rebalance_s for one in group.members.values())

        def over():
            if group.deadline is token and group.state == "joining":
                for member in list(group.members.values()):
                    if member.respond_join is None:
                        del group.members[member.member_id]
                self._complete(group)

        self.cluster.network.after(wait_s, over)

    def _complete_if_all(self, group):
        if group.state == "joining" and all(one.respond_join for one in group.members.values()):
            token = group.deadline
            # others may come within a moment (group.initial.rebalance.delay.ms)
            self.cluster.network.after(
                0.05,
                lambda: (
                    group.deadline is token
                    and group.state == "joining"
                    and all(one.respond_join for one in group.members.values())
                    and self._complete(group)
                ),
            )

    def _complete(self, group):
        if not group.members:
            group.state = "empty"
            return
        kind = messages.JoinGroupResponse
        group.generation += 1
        group.state = "syncing"
        group.shares = {}
        common = set.intersection(*({name for name, _data in one.protocols} for one in group.members.values()))
        group.protocol = next(name for name, _data in next(iter(group.members.values())).protocols if name in common)
        if group.leader not in group.members:
            group.leader = next(iter(group.members))
        rows = [
            kind.JoinGroupResponseMember(one.member_id, one.instance_id, dict(one.protocols)[group.protocol])
            for one in group.members.values()
        ]
        for member in group.members.values():
            respond, member.respond_join = member.respond_join, None
            member.seen_s = self.cluster.network.now_s
            respond(
                kind(
                    generation_id=group.generation,
                    protocol_type="consumer",
                    protocol_name=group.protocol,
                    leader=group.leader,
                    member_id=member.member_id,
                    members=rows if member.member_id == group.leader else [],
                )
            )
        self._watch(group)

    def _watch(self, group):
        """Remove who is silent for its session."""
        generation = group.generation

        def look():
            if group.generation != generation or not group.members:
                return
            now_s = self.cluster.network.now_s
            late = [
                one
                for one in group.members.values()
                if now_s - one.seen_s > one.session_s and not one.respond_join and not one.respond_sync
            ]
            for member in late:
                self.remove(group, member.member_id)
            if not late:
                self.cluster.network.after(1.0, look)

        self.cluster.network.after(1.0, look)

    def remove(self, group, member_id):
        """A member is gone."""
        group.members.pop(member_id, None)
        if group.members:
            self.rebalance(group)
            self._complete_if_all(group)
        else:
            group.state = "empty"

    def _check(self, group, request, generation, code):
        member = group.members.get(request.member_id)
        instance_id = getattr(request, "group_instance_id", None)
        if code:
            return code
        if (
            instance_id is not None
            and member is None
            and any(one.instance_id == instance_id for one in group.members.values())
        ):
            return ErrorCode.FENCED_INSTANCE_ID
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        member.seen_s = self.cluster.network.now_s
        return 0

    def _sync_group(self, _version, request, respond, code, group):
        kind = messages.SyncGroupResponse
        code = self._check(group, request, request.generation_id, code)
        if not code and group.state == "joining":
            code = ErrorCode.REBALANCE_IN_PROGRESS
        if code:
            respond(kind(error_code=code))
            return
        member = group.members[request.member_id]
        member.respond_sync = respond
        if group.state == "syncing" and request.member_id == group.leader:
            group.shares = {one.member_id: bytes(one.assignment) for one in request.assignments}
            group.state = "stable"
        if group.state == "stable":
            for one in group.members.values():
                if one.respond_sync:
                    answer, one.respond_sync = one.respond_sync, None
                    one.seen_s = self.cluster.network.now_s
                    answer(kind(protocol_name=group.protocol, assignment=group.shares.get(one.member_id, b"")))

    def _heartbeat(self, _version, request, respond, code, group):
        code = self._check(group, request, request.generation_id, code)
        if not code and group.state == "joining":
            code = ErrorCode.REBALANCE_IN_PROGRESS
        respond(messages.HeartbeatResponse(error_code=code))

    def _leave_group(self, _version, request, respond, code, group):
        ids = [one.member_id for one in request.members] or [request.member_id]
        respond(messages.LeaveGroupResponse(error_code=code))
        if not code:
            for member_id in ids:
                if member_id in group.members:
                    self.remove(group, member_id)

    def _offset_commit(self, _version, request, respond, code, group):
        kind = messages.OffsetCommitResponse
        if request.generation_id_or_member_epoch >= 0:
            code = self._check(group, request, request.generation_id_or_member_epoch, code)
        if not code and group.state == "syncing":
            code = ErrorCode.REBALANCE_IN_PROGRESS
        topics = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                name = TopicPartition(topic.name, row.partition_index)
                if not code:
                    at = (row.committed_offset, row.committed_leader_epoch)
                    self.committed[request.group_id, name] = at
                    self.commits.append((name, at[0]))
                rows.append(kind.OffsetCommitResponsePartition(row.partition_index, code))
            topics.append(kind.OffsetCommitResponseTopic(topic.name, rows))
        respond(kind(topics=topics))

    def _offset_fetch(self, version, request, respond, code, _group):
        kind = messages.OffsetFetchResponse
        topics = []
        for topic in request.topics or []:
            rows = []
            for partition in topic.partition_indexes:
                offset, epoch = self.committed.get((request.group_id, TopicPartition(topic.name, partition)), (-1, -1))
                rows.append(
                    kind.OffsetFetchResponsePartition(
                        partition, offset, epoch, "", error_code=code if version < 2 else 0
                    )
                )
            topics.append(kind.OffsetFetchResponseTopic(topic.name, rows))
        respond(kind(error_code=code if version >= 2 else 0, topics=topics))
