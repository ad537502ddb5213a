"""Clients that ask for more than records: a mover of replicas, a churner of topics, a committer of offsets.

Mover        reassigns partitions and has preferred leaders elected; at the end every replica is where it was
Churner      creates a topic, produces, reads back, deletes it, under one name again and again: what it reads is of this life of the topic
Committer    commits offsets of a group, each above the one before: what is committed never goes back
"""

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.simulation.client import Client, NoAnswer, NotSent

CHURNED = "churned"
GROUP = "group"
CONSUMER = 0  # key type of FindCoordinator
PREFERRED = 0  # election type
LIVES_MAX = 40


class Mover(Client):
    def __init__(self, cluster, name, topic, partitions):
        self.topic, self.partitions = topic, partitions
        super().__init__(cluster, name)

    def life(self):
        count = len(self.cluster.nodes)
        while not self.cluster.is_ending:
            yield from self.sleep(self.chance.randrange(50, 1_500))
            partition = self.chance.randrange(self.partitions)
            if self.chance.random() < 0.3:
                yield from self._elect(partition)
                continue
            wanted = self.chance.sample(range(count), self.chance.randrange(2, count + 1))
            yield from self._move(partition, None if self.chance.random() < 0.15 else wanted)
        for partition in range(self.partitions):
            while not (yield from self._move(partition, list(range(count)))):
                yield from self.sleep(100)

    def _move(self, partition, replicas):
        """Whether it was taken; None cancels."""
        request = messages.AlterPartitionReassignmentsRequest
        row = request.ReassignablePartition(partition, replicas)
        message = request(timeout_ms=4000, topics=[request.ReassignableTopic(self.topic, [row])])
        try:
            answer = yield from self.ask(self.some_host(), ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, message)
        except (NotSent, NoAnswer) as failure:
            self.kernel.note(self.name, f"move of {partition} to {replicas}: {failure}")
            return False
        codes = [one.error_code for topic in answer.responses for one in topic.partitions]
        error = ErrorCode(answer.error_code or (codes[0] if codes else 0))
        texts = [one.error_message for topic in answer.responses for one in topic.partitions if one.error_message]
        self.kernel.note(self.name, f"move of {partition} to {replicas}: {error.name} {' '.join(texts)}".rstrip())
        return error is ErrorCode.NONE

    def _elect(self, partition):
        request = messages.ElectLeadersRequest
        wanted = [request.TopicPartitions(self.topic, [partition])]
        message = request(election_type=PREFERRED, topic_partitions=wanted, timeout_ms=4000)
        try:
            answer = yield from self.ask(self.some_host(), ApiKey.ELECT_LEADERS, 1, message)
            self.kernel.note(self.name, f"election of {partition}: {ErrorCode(answer.error_code).name}")
        except (NotSent, NoAnswer) as failure:
            self.kernel.note(self.name, f"election of {partition}: {failure}")


class Churner(Client):
    def life(self):
        for life in range(LIVES_MAX):
            if self.cluster.is_ending:
                return
            yield from self._create()
            yield from self._live(life)
            yield from self.sleep(self.chance.randrange(0, 1_500))
            yield from self._delete()

    def _create(self):
        """Until it is there; a deletion whose answer was lost may still be under way."""
        while True:
            try:
                error = yield from self.create_topic(
                    self.some_host(), CHURNED, 1, self.cluster.factor, self.cluster.configs
                )
                self.kernel.note(self.name, f"create: {error.name}")
                if error is ErrorCode.NONE:
                    return
                if error is ErrorCode.TOPIC_ALREADY_EXISTS:  # the answer to an earlier try was lost
                    return
            except (NotSent, NoAnswer) as failure:
                self.kernel.note(self.name, f"create: {failure}")
            yield from self.sleep(100)

    def _live(self, life):
        """A few records, acknowledged, then read back."""
        stored = {}
        for index in range(self.chance.randrange(1, 6)):
            value = f"{self.name}-{life}-{index}"
            leaders = yield from self.leaders(CHURNED)
            if not leaders:
                yield from self.sleep(100)
                continue
            try:
                error, offset = yield from self.produce(leaders[0], CHURNED, 0, [value])
                self.kernel.note(self.name, f"produce {value}: {error.name} at {offset}")
                if error is ErrorCode.NONE:
                    stored[offset] = value
            except (NotSent, NoAnswer):
                pass
        if not stored:
            return
        for _ in range(3):
            leaders = yield from self.leaders(CHURNED)
            if not leaders:
                yield from self.sleep(100)
                continue
            try:
                found = yield from self.fetch(leaders[0], CHURNED, 0, 0)
            except (NotSent, NoAnswer):
                continue
            if isinstance(found, ErrorCode):
                yield from self.sleep(100)
                continue
            records = dict(found[0])
            strange = [value for value in records.values() if not value.startswith(f"{self.name}-{life}-")]
            if strange:
                self.kernel.anomaly(f"brought-back {CHURNED}: {strange} in life {life}")
            return

    def _delete(self):
        """Until it is gone."""
        request = messages.DeleteTopicsRequest(topic_names=[CHURNED], timeout_ms=4000)
        while not self.cluster.is_over:
            try:
                answer = yield from self.ask(self.some_host(), ApiKey.DELETE_TOPICS, 3, request)
                error = ErrorCode(answer.responses[0].error_code)
                self.kernel.note(self.name, f"delete: {error.name}")
                if error in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    return
            except (NotSent, NoAnswer) as failure:
                self.kernel.note(self.name, f"delete: {failure}")
            yield from self.sleep(100)


class Committer(Client):
    """acknowledged   the last offset whose commit was"""

    def __init__(self, cluster, name, topic):
        self.topic = topic
        self.acknowledged = -1
        super().__init__(cluster, name)

    def life(self):
        offset = 0
        while not self.cluster.is_ending:
            yield from self.sleep(self.chance.randrange(10, 300))
            host = yield from self._coordinator()
            if host is None:
                continue
            if self.chance.random() < 0.3:
                yield from self._read(host, offset)
                continue
            offset += 1
            error = yield from self._commit(host, offset)
            if error is ErrorCode.NONE:
                self.acknowledged = offset
        while True:  # what was committed is there in the end
            host = yield from self._coordinator()
            if host is not None and (yield from self._read(host, offset)):
                return
            yield from self.sleep(100)

    def _coordinator(self):
        message = messages.FindCoordinatorRequest(key=GROUP, key_type=CONSUMER)
        try:
            answer = yield from self.ask(self.some_host(), ApiKey.FIND_COORDINATOR, 3, message)
        except (NotSent, NoAnswer):
            return None
        return None if answer.error_code else answer.host

    def _commit(self, host, offset):
        request = messages.OffsetCommitRequest
        row = request.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
        )
        message = request(
            group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None,
            topics=[request.OffsetCommitRequestTopic(self.topic, [row])],
        )  # fmt: skip
        try:
            answer = yield from self.ask(host, ApiKey.OFFSET_COMMIT, 7, message)
        except (NotSent, NoAnswer) as failure:
            self.kernel.note(self.name, f"commit {offset}: {failure}")
            return None
        error = ErrorCode(answer.topics[0].partitions[0].error_code)
        self.kernel.note(self.name, f"commit {offset}: {error.name}")
        return error

    def _read(self, host, sent):
        """Whether it was answered, by the coordinator that there is."""
        request = messages.OffsetFetchRequest
        message = request(group_id=GROUP, topics=[request.OffsetFetchRequestTopic(self.topic, [0])])
        try:
            answer = yield from self.ask(host, ApiKey.OFFSET_FETCH, 5, message)
        except (NotSent, NoAnswer):
            return False
        part = answer.topics[0].partitions[0] if not answer.error_code else None
        if part is None or part.error_code:
            return False
        if not self.cluster.judges.leads(host, "__consumer_offsets", 0):
            return False  # who is none any more may not know it yet, as in Kafka
        if not self.acknowledged <= part.committed_offset <= sent:
            self.kernel.anomaly(
                f"committed-back {GROUP}: {part.committed_offset}, {self.acknowledged} was acknowledged and {sent} sent"
            )
        return True
