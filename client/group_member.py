"""One member of a consumer group, without threads: the caller's loop calls `heartbeat` between its polls.

    join      -> JoinGroup, and SyncGroup with all assignments if the coordinator made us the leader
    heartbeat -> False once the group rebalances or has removed us: commit what is done, rejoin
    commit    -> OffsetCommit of this generation
    leave     -> LeaveGroup, so that the others don't wait for the session timeout

Rebalances are eager: all partitions are revoked at each. Assignors: range and roundrobin. The leader checks now and then
whether the topics have more partitions, and rejoins if they have.

Source: Kafka `AbstractCoordinator`, `ConsumerCoordinator`; KIP-394 for the member id's round trip.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from headrace.client.assignors import (
    ASSIGNORS,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from headrace.client.cluster import Cluster, error_of
from headrace.client.coordinator import CoordinatorClient
from headrace.client.offset_store import commit_topics, committed_offsets
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_GENERATION, TopicPartition
from headrace.limits import JOINS_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

PROTOCOL_TYPE = "consumer"
ANSWER_EXTRA_S = 10.0  # after the rebalance timeout, which a join may take

# the group removed us, or is in another generation: rejoin
_REBALANCE = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})


class GroupMember:
    """A member of `group_id` that wants to read `topics`.

    assignors     names, the preferred one first
    instance_id   group.instance.id of a static member, None: a dynamic one
    metadata_ms   interval of the leader's checks for new partitions
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topics: Sequence[str],
        *,
        assignors: Sequence[str] = ("range", "roundrobin"),
        session_timeout_ms: int = 45_000,
        heartbeat_ms: int = 3_000,
        rebalance_timeout_ms: int = 60_000,
        instance_id: str | None = None,
        metadata_ms: int = 60_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        assert set(assignors) <= ASSIGNORS.keys(), assignors
        self.group_id = group_id
        self.member_id = ""
        self.generation = NO_GENERATION
        self.partitions: list[TopicPartition] = []
        self._cluster = cluster
        self._coordinator = CoordinatorClient(cluster, group_id)
        self._topics = sorted(topics)
        self._assignors = list(assignors)
        self._session_timeout_ms = session_timeout_ms
        self._heartbeat_s = heartbeat_ms / 1000
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._instance_id = instance_id
        self._clock_s = clock_s
        self._heartbeat_at_s = 0.0
        self._metadata_s = metadata_ms / 1000
        self._metadata_at_s = 0.0
        self._dealt: dict[str, int] | None = None  # partitions of each topic that we dealt as the leader

    @property
    def is_member(self) -> bool:
        return self.generation != NO_GENERATION

    def join(self) -> list[TopicPartition]:
        """Take part in the next generation; waits until all members have joined.

        returns   the partitions that are ours now
        raises    KafkaError, for errors that rejoining does not cure; ConnectionFailed; a KeyboardInterrupt leaves a
                  member that may continue to `leave`
        """
        try:
            return self._join()
        except KeyboardInterrupt:
            self._coordinator.forget()  # a response is in flight there, so the connection can't be reused
            raise

    def _join(self) -> list[TopicPartition]:
        for _ in range(JOINS_MAX):
            self.generation = NO_GENERATION
            joined = self._ask_to_join()
            if joined is None:
                continue
            data = self._sync(joined)
            if data is not None:
                self.generation = joined.generation_id
                self.partitions = decode_assignment(data)
                self._heartbeat_at_s = self._clock_s() + self._heartbeat_s
                self._metadata_at_s = self._clock_s() + self._metadata_s
                return self.partitions
        raise KafkaError(
            ErrorCode.REBALANCE_IN_PROGRESS, f"group {self.group_id} rebalanced {JOINS_MAX} times while we were joining"
        )

    def heartbeat(self) -> bool:
        """Send a heartbeat if one is due; False: rejoin.

        raises   KafkaError, for errors that rejoining does not cure; ConnectionFailed
        """
        if not self.is_member:
            return False
        now_s = self._clock_s()
        if now_s < self._heartbeat_at_s:
            return True
        self._heartbeat_at_s = now_s + self._heartbeat_s
        request = messages.HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
        )
        answer = self._coordinator.ask(ApiKey.HEARTBEAT, (0, 4), request, _code)
        return self._still_member(answer.error_code) and not self._has_grown(now_s)

    def _has_grown(self, now_s: float) -> bool:
        """Whether the topics have other partitions than we assigned; checked every `metadata_ms`."""
        if self._dealt is None or now_s < self._metadata_at_s:
            return False
        self._metadata_at_s = now_s + self._metadata_s
        try:
            return self._counts(list(self._dealt)) != self._dealt
        except HeadraceError:
            return False  # a topic is gone, or no broker answers: reading it will report that

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit the next offset of partitions; False: another generation has begun, commits are no longer accepted.

        raises   KafkaError with the partition; ConnectionFailed
        """
        if not offsets:
            return True
        if not self.is_member:
            return False
        request = messages.OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            topics=commit_topics(offsets),
        )
        answer = self._coordinator.ask(ApiKey.OFFSET_COMMIT, (2, 8), request, _first_code)
        for topic in answer.topics:
            for row in topic.partitions:
                if row.error_code in _REBALANCE:
                    return self._still_member(row.error_code)
                if row.error_code:
                    raise error_of(
                        row.error_code,
                        f"commit of {TopicPartition(topic.name, row.partition_index)} in {self.group_id}",
                    )
        return True

    def committed(self, names: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offsets of those partitions that have one; raises KafkaError, ConnectionFailed"""
        return committed_offsets(self._coordinator, names)

    def leave(self) -> None:
        """Leave the group if we are a member; a static member keeps its place for the session timeout. Errors are ignored."""
        if self.member_id and self._instance_id is None:
            kind = messages.LeaveGroupRequest
            request = kind(
                group_id=self.group_id,
                member_id=self.member_id,
                members=[kind.MemberIdentity(member_id=self.member_id, reason="the consumer was closed")],
            )
            try:
                connection = self._coordinator.connection()
                connection.request(ApiKey.LEAVE_GROUP, connection.version(ApiKey.LEAVE_GROUP, 0, 5), request)
            except HeadraceError:
                pass  # the session timeout says the same
        self.generation = NO_GENERATION
        self.member_id = ""
        self._coordinator.close()

    def _ask_to_join(self) -> messages.JoinGroupResponse | None:
        """The JoinGroup response, None if it must be retried."""
        kind = messages.JoinGroupRequest
        subscription = encode_subscription(self._topics)
        request = kind(
            group_id=self.group_id,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[kind.JoinGroupRequestProtocol(name, subscription) for name in self._assignors],
        )
        wait_s = self._rebalance_timeout_ms / 1000 + ANSWER_EXTRA_S
        answer = self._coordinator.ask(ApiKey.JOIN_GROUP, (0, 9), request, _code, wait_s)
        code = answer.error_code
        if not code:
            self.member_id = answer.member_id
            return answer
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        elif code not in _REBALANCE:
            raise error_of(code, f"joining group {self.group_id}")
        return None

    def _sync(self, joined: messages.JoinGroupResponse) -> bytes | None:
        """Our assignment, None if the group is rebalancing again."""
        kind = messages.SyncGroupRequest
        assignments = []
        self._dealt = None
        if joined.leader == joined.member_id and not joined.skip_assignment:
            shares = self._assign(joined)
            assignments = [kind.SyncGroupRequestAssignment(member, data) for member, data in shares.items()]
        request = kind(
            group_id=self.group_id,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=assignments,
        )
        wait_s = self._rebalance_timeout_ms / 1000 + ANSWER_EXTRA_S
        answer = self._coordinator.ask(ApiKey.SYNC_GROUP, (0, 5), request, _code, wait_s)
        if not answer.error_code:
            return bytes(answer.assignment)
        self._still_member(answer.error_code)
        return None

    def _assign(self, joined: messages.JoinGroupResponse) -> dict[str, bytes]:
        """The leader's part: all assignments, by the protocol that the coordinator chose."""
        assignor = ASSIGNORS.get(joined.protocol_name or "")
        if assignor is None:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"assignor {joined.protocol_name!r} was not among those we offered",
            )
        # static members are ordered by their instance ids, which outlive their member ids
        order = {(member.group_instance_id or member.member_id): member for member in joined.members}
        subscriptions = {name: decode_subscription(bytes(member.metadata)) for name, member in order.items()}
        topics = sorted({topic for topics in subscriptions.values() for topic in topics})
        counts = self._dealt = self._counts(topics)
        shares = assignor(subscriptions, counts)
        return {order[name].member_id: encode_assignment(share) for name, share in shares.items()}

    def _counts(self, topics: list[str]) -> dict[str, int]:
        """Current partitions of topics; raises KafkaError, ConnectionFailed"""
        if topics:
            self._cluster.refresh(topics)
        found = set(self._cluster.partitions)
        return {topic: sum(name.topic == topic for name in found) for topic in topics}

    def _still_member(self, code: int) -> bool:
        """raises   KafkaError, for an error that is not a rebalance"""
        if not code:
            return True
        if code not in _REBALANCE:
            self.generation = NO_GENERATION
            raise error_of(code, f"group {self.group_id}")
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        if code != ErrorCode.REBALANCE_IN_PROGRESS:
            self.generation = NO_GENERATION
        return False


def _code(answer: messages.JoinGroupResponse | messages.SyncGroupResponse | messages.HeartbeatResponse) -> int:
    return int(answer.error_code)


def _first_code(answer: messages.OffsetCommitResponse) -> int:
    """The group's error in an OffsetCommit response, which repeats it for each partition."""
    return next((row.error_code for topic in answer.topics for row in topic.partitions if row.error_code), 0)
