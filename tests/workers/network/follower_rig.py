"""A network worker's loop, the replicas that node 0 leads behind it, and node 7, which follows them over a connection."""

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.shm.cluster_view import BrokerView
from headrace.shm.messages import FOLLOWER_FETCHED, FOLLOWER_FETCHED_ENTRY
from tests.support.fake_seat import TOPIC_ID, view_of
from tests.support.log_fixtures import batch
from tests.workers.network.network_rig import PARTITION_WORKER, Rig, lead

NODE, FOLLOWER, STRANGER, SECOND = 0, 7, 8, 9
EPOCH = 4
BROKER_EPOCH = 50
ID = bytes.fromhex(TOPIC_ID)
_Request = messages.FetchRequest


def replicated(view, replicas=(NODE, FOLLOWER), isr=(NODE, FOLLOWER), epoch=EPOCH):
    """The view with followers of every partition; SECOND is a broker too."""
    topics = {
        name: topic._replace(
            partitions=tuple(one._replace(replicas=replicas, isr=isr, leader_epoch=epoch) for one in topic.partitions)
        )
        for name, topic in view.topics.items()
    }
    brokers = {one: BrokerView(one, "127.0.0.1", 9092, None, BROKER_EPOCH) for one in (NODE, FOLLOWER, SECOND)}
    return view._replace(version=view.version + 1, topics=topics, brokers=brokers)


def wanted(partition=0, offset=0, epoch=EPOCH, fetched=-1, log_start=0, max_bytes=1 << 20):
    return _Request.FetchPartition(
        partition=partition, fetch_offset=offset, current_leader_epoch=epoch, last_fetched_epoch=fetched,
        log_start_offset=log_start, partition_max_bytes=max_bytes,
    )  # fmt: skip


class FollowerRig(Rig):
    """`partitions` of topic t, led here."""

    def __init__(self, log_dir, partitions=2, **settings):
        super().__init__(log_dir, {key.replace("_", "."): str(value) for key, value in settings.items()})
        self.set_view(replicated(view_of(("t", partitions))))
        self.replicas = lead(self)
        self.follower = Follower(self)

    def set_view(self, view):
        self.seat.view.view = view

    def put(self, slot=0, count=1):
        """Append batches of one record; the followers have not fetched them."""
        replica = self.replicas.by_slot[slot]
        replica.append([batch() for _ in range(count)], self.clock.ms)
        return replica

    def lead_epochs(self):
        """Epochs 4 (offsets 0 and 1), 6 (2 to 4), 9 (5): this node has led in all of them."""
        for epoch, count in ((EPOCH, 2), (6, 3), (9, 1)):
            view = replicated(view_of(("t", 2)), epoch=epoch)
            self.set_view(view._replace(version=self.seat.view.view.version + 1))
            self.replicas.follow(self.seat.view.view)
            for _ in range(count):
                self.clock.ms += 1_000
                self.put()

    def told(self):
        """What the owner was told since the last call: (slot, replica, leader epoch, broker epoch, offset, log start)."""
        written = self.seat.writers[PARTITION_WORKER].written
        entries = [
            (slot, *rest)
            for kind, header in written
            if kind == FOLLOWER_FETCHED
            for slot, _key, *rest in FOLLOWER_FETCHED_ENTRY.iter_unpack(header)
        ]
        written.clear()
        return entries


class Follower:
    """Fetches over one connection."""

    def __init__(self, rig, replica_id=FOLLOWER, broker_epoch=BROKER_EPOCH):
        self.rig = rig
        self.replica_id = replica_id
        self.broker_epoch = broker_epoch
        self.client = rig.connect()
        self.client.settimeout(0.01)
        self.data = b""
        self.version = 17
        self.session = (0, 0)
        self.rack = ""

    def send(
        self, *partitions, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, session=None, forgotten=(), version=None
    ):
        self.version = version = version or self.version
        topic = {"topic_id": ID} if version >= 13 else {"topic": "t"}
        session_id, session_epoch = session or self.session
        request = _Request(
            replica_id=self.replica_id,
            replica_state=_Request.ReplicaState(self.replica_id, self.broker_epoch),
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            rack_id=self.rack,
            session_id=session_id,
            session_epoch=session_epoch,
            topics=[_Request.FetchTopic(**topic, partitions=list(partitions))] if partitions else [],
            forgotten_topics_data=[_Request.ForgottenTopic(**topic, partitions=list(forgotten))] if forgotten else [],
        )
        self.client.sendall(build_request(ApiKey.FETCH, version, 7, "follower", request))

    def receive(self, cycles=1_000):
        """The next answer; None where none comes in so many cycles."""
        for _ in range(cycles):
            self.rig.turn(1)
            try:
                self.data += self.client.recv(1 << 20)
            except TimeoutError:
                continue
            if len(self.data) >= 4 and len(self.data) - 4 >= (size := int.from_bytes(self.data[:4], "big")):
                answer, self.data = self.data[4 : 4 + size], self.data[4 + size :]
                header = 5 if self.version >= 12 else 4
                return decode_response(ApiKey.FETCH, self.version, memoryview(answer)[header:])
            assert self.data, "the connection was closed"
        return None

    def fetch(self, *partitions, **options):
        """(the response, PartitionData by index); the next fetch goes on in the session."""
        self.send(*partitions, **options)
        answer = self.receive()
        assert answer is not None
        if answer.session_id:
            _id, epoch = options.get("session") or self.session
            self.session = (answer.session_id, epoch + 1)
        return answer, {row.partition_index: row for topic in answer.responses for row in topic.partitions}

    def one(self, *arguments, **options):
        """The answer for one partition, asked without a session."""
        log_start = options.pop("log_start", 0)
        self.send(wanted(*arguments)._replace(log_start_offset=log_start), session=(0, -1), **options)
        answer = self.receive()
        return answer.responses[0].partitions[0]
