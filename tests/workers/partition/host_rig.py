"""A host of group coordinators over a real log with one offsets partition, and requests to it."""

from types import SimpleNamespace

from headrace.errors import ErrorCode, StorageExhausted
from headrace.ids import OFFSETS_TOPIC, TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.record_batch import build_batch
from headrace.settings import Settings
from headrace.shm.cluster_view import DeletedTopic
from headrace.shm.messages import CLIENT_HEADER
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.coordinators.group.records import encode_offset, offset_key_prefix, suffix_of
from headrace.workers.partition.coordination.coordinator_host import CoordinatorHost
from headrace.workers.partition.coordination.group_requests import GroupRequests
from headrace.workers.partition.coordination.groups import Groups
from headrace.workers.partition.coordination.known_topics import KnownTopics
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from tests.support.fake_date import FakeDate
from tests.support.log_fixtures import LogMaker
from tests.workers.coordinators.group.group_fixtures import lag_table

NODE = 0
GONE = [("t", "id1")]


class Rows:
    last = SimpleNamespace(key=-1)

    def publish(self, slot, row):
        self.last = row

    def write(self, slot, *fields):
        self.publish(slot, PartitionRow(*fields))

    def recover_row(self, slot):
        return self.last, False


def fail(replica, failure):
    if not isinstance(failure, StorageExhausted):
        replica.take_out(str(failure))


class Rig:
    """A host with one offsets partition."""

    def __init__(self, tmp_path, **settings):
        self.logs = LogMaker(tmp_path)
        self.log = self.logs.open()
        self.rows = Rows()
        self.moved = ReplicaEvents()
        self.advanced = []
        self.moved.observe(lambda replica: self.advanced.append(replica.slot))
        self.replica = Replica(
            TopicPartition(OFFSETS_TOPIC, 0), self.log, 3, 9, self.rows, 1, NODE, 0, self.moved, fail
        )
        self.lags = lag_table(8)
        self.lead()
        self.counted = []
        self.date = FakeDate()
        self.settings = Settings({key.replace("_", "."): str(value) for key, value in settings.items()})
        self.host = self.new_host()

    def new_host(self):
        seat = SimpleNamespace(
            wiring=SimpleNamespace(settings=self.settings, index=lambda process_id: process_id),
            process_id=0,
            lags=self.lags,
            processes=self.date,
            counters=SimpleNamespace(add=lambda index, count: self.counted.append(index)),
        )
        answers = SimpleNamespace(flush=lambda: 0)
        self.topics = KnownTopics()
        self.host = CoordinatorHost(Groups(seat), self.topics, seat, answers, {3: self.replica}, self.logs.clock.ms)
        self.moved.observe(self.host.moved, self.host.waiting)
        self.handlers = GroupRequests(self.host).handlers()
        return self.host

    def lead(self, isr=(NODE,), epoch=1):
        self.replica.state = RowState.LEADER
        self.replica.isr = isr
        self.replica.leader_epoch = epoch
        self.replica.advance_high_watermark()

    def follow(self, topics=("t",), deleted=(), topic_id="id1"):
        def topic(name, count):
            return SimpleNamespace(name=name, partitions=[None] * count, topic_id=topic_id)

        rows = {name: topic(name, 4) for name in topics}
        rows[OFFSETS_TOPIC] = topic(OFFSETS_TOPIC, 1)
        view = SimpleNamespace(topics=rows, deleted=[DeletedTopic(*each) for each in deleted])
        self.host.follow(self.topics.follow(view))

    def load(self):
        self.follow()
        cycles = 0
        while self.host.by_partition[0].coordinator.is_loading:
            self.host.do_work()
            cycles += 1
        return cycles

    def ask(self, key, version, request, prefix=b""):
        """A list that gets the response, decoded."""
        got = []
        body = memoryview(prefix + encode_request(key, version, request))
        self.handlers[key](version, body, lambda response: got.append(decode_response(key, version, response)))
        return got

    def commit(self, offset, group="g", partition=0):
        topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
        row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
        rows = [row(partition_index=partition, committed_offset=offset)]
        request = messages.OffsetCommitRequest(group_id=group, topics=[topic(name="t", partitions=rows)])
        return self.ask(ApiKey.OFFSET_COMMIT, 8, request)

    def committed(self, group="g", partition=0):
        topic = messages.OffsetFetchRequest.OffsetFetchRequestTopic
        request = messages.OffsetFetchRequest(group_id=group, topics=[topic(name="t", partition_indexes=[partition])])
        (response,) = self.ask(ApiKey.OFFSET_FETCH, 7, request)
        return response.topics[0].partitions[0].committed_offset

    def error_of(self, got):
        return ErrorCode(got[0].topics[0].partitions[0].error_code).name if got else None

    def bytes_of_log(self):
        (segment,) = self.logs.directory.glob("*.log")
        return segment.read_bytes()


def fill(rig, batches, records=200):
    for number in range(batches):
        rows = [
            (offset_key_prefix(f"g{row}") + suffix_of("t", 0), encode_offset(number, -1, b"", 1))
            for row in range(records)
        ]
        data = memoryview(bytearray(build_batch(rows, timestamp_ms=rig.logs.clock.ms)))
        assert rig.log.append_as_leader([data], 1, rig.logs.clock.ms)[0][0] == 0


def join(rig, group="g"):
    row = messages.JoinGroupRequest.JoinGroupRequestProtocol
    request = messages.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[row(name="range", metadata=b"")],
    )
    return rig.ask(ApiKey.JOIN_GROUP, 3, request, CLIENT_HEADER.pack(3, 4) + b"app/h:1")
