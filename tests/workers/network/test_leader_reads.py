"""What a leader's row lets Fetch and ListOffsets answer: to whom, for which leader epoch, up to where, whatever was stored."""

from types import SimpleNamespace

import pytest

from headrace.checksum import crc32c
from headrace.errors import ErrorCode
from headrace.limits import CONTROL_SILENT_MS_MAX
from headrace.log.reading import batch_search
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_response
from headrace.protocol.compression import compress
from headrace.protocol.frames import build_request
from headrace.protocol.message_set import iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, Record, build_batch, iterate_records
from headrace.shm.process_table import ProcessState
from headrace.workers.network.fetch import down_conversion, look_ups
from headrace.workers.network.handlers import a01_fetch
from tests.support.counted import CountedList, Counter
from tests.support.fake_seat import view_of
from tests.workers.network.network_rig import Rig, lead
from tests.workers.network.produce.test_plain_admission import batch_of

EPOCH = 4
LATEST, MAX_TIMESTAMP = -1, -3
FETCH_VERSION = 11
LIST_VERSION = 5
CONSUMER = -1
FAR_MS = 2**63 - 1


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    rig.seat.view.view = view_of(("t", 2, {}, EPOCH))._replace(version=2)
    rig.replica = lead(rig).by_slot[0]
    yield rig
    rig.close()


def put(rig, batch, is_committed=True):
    ((error, _base, _time),) = rig.replica.log.append_as_leader([memoryview(bytearray(batch))], EPOCH, rig.clock.ms)
    assert not error
    if is_committed:
        rig.replica.advance_high_watermark()
    rig.replica.publish()


def ask(rig, key, version, request):
    client = rig.connect()
    client.sendall(build_request(key, version, 7, "bench", request))
    client.settimeout(0.01)
    data = b""
    for _ in range(1_000):
        rig.turn(10)
        try:
            data += client.recv(1 << 20)
        except TimeoutError:
            continue
        if len(data) >= 4 and len(data) - 4 == int.from_bytes(data[:4], "big"):
            return decode_response(key, version, memoryview(data)[8 + response_header_version(key, version) :])
        assert data, "the connection was closed"
    raise AssertionError("no answer")


def fetch(rig, version=FETCH_VERSION, epoch=-1, replica_id=CONSUMER, offset=0):
    request = messages.FetchRequest
    row = request.FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=epoch
    )
    wanted = request(replica_id=replica_id, max_bytes=1 << 20, topics=[request.FetchTopic(topic="t", partitions=[row])])
    return ask(rig, ApiKey.FETCH, version, wanted).responses[0].partitions[0]


def list_offset(rig, timestamp=LATEST, version=LIST_VERSION, epoch=-1, replica_id=CONSUMER):
    request = messages.ListOffsetsRequest
    row = request.ListOffsetsPartition(
        partition_index=0, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=1
    )
    wanted = request(replica_id=replica_id, topics=[request.ListOffsetsTopic(name="t", partitions=[row])])
    return ask(rig, ApiKey.LIST_OFFSETS, version, wanted).topics[0].partitions[0]


@pytest.mark.parametrize("how", [fetch, list_offset])
@pytest.mark.parametrize(
    ("epoch", "wanted"),
    [(-1, "NONE"), (EPOCH, "NONE"), (EPOCH - 1, "FENCED_LEADER_EPOCH"), (EPOCH + 1, "UNKNOWN_LEADER_EPOCH"), (0, "FENCED_LEADER_EPOCH")],
)  # fmt: skip
def test_a_client_of_another_leader_epoch_is_told_so(rig, how, epoch, wanted):
    """KAFKA-7395, KIP-320: a stale leader, or one that a stale client talks to, serves nothing."""
    put(rig, batch_of())
    assert ErrorCode(how(rig, epoch=epoch).error_code).name == wanted


@pytest.mark.parametrize("how", [fetch, list_offset])
@pytest.mark.parametrize("replica_id", [0, 7, -1, -2])
def test_who_calls_itself_a_replica_is_refused(rig, how, replica_id):
    """CVE-2018-1288: nobody can show that he is a broker, so nobody is one."""
    put(rig, batch_of())
    wanted = "CLUSTER_AUTHORIZATION_FAILED" if replica_id >= 0 else "NONE"
    for version in {fetch: (4, 11), list_offset: (0, 1, 5)}[how]:
        assert ErrorCode(how(rig, version=version, replica_id=replica_id).error_code).name == wanted


@pytest.mark.parametrize("version", [2, 4, 11])
@pytest.mark.parametrize(
    ("state", "away_since_ms", "silent_ms", "wanted"),
    [
        (ProcessState.READY, 0, 0, "OFFSET_OUT_OF_RANGE"),
        (ProcessState.STARTING, 0, 0, "NOT_LEADER_OR_FOLLOWER"),
        (ProcessState.READY, 1_795_000_000_000, 0, "NOT_LEADER_OR_FOLLOWER"),
        (ProcessState.READY, 0, CONTROL_SILENT_MS_MAX, "OFFSET_OUT_OF_RANGE"),
        (ProcessState.READY, 0, CONTROL_SILENT_MS_MAX + 1, "NOT_LEADER_OR_FOLLOWER"),
    ],
)
def test_a_leader_that_may_be_deposed_sends_no_client_back_to_the_first_record(
    rig, version, state, away_since_ms, silent_ms, wanted
):
    """Seen once in 400 faults: the node's controller process was killed, others led, and the client asked the old leader again."""
    put(rig, batch_of())
    rig.seat.controller_state, rig.seat.away_since_ms = state, away_since_ms
    rig.seat.controller_beat_ns = rig.clock.monotonic_ns() - silent_ms * 1_000_000
    assert ErrorCode(fetch(rig, version, offset=2).error_code).name == wanted
    assert ErrorCode(fetch(rig, version, offset=-1).error_code).name == "OFFSET_OUT_OF_RANGE"
    assert ErrorCode(fetch(rig, version, offset=1).error_code).name == "NONE"


@pytest.mark.parametrize("version", [4, 5])
def test_who_debugs_is_told_the_logs_end_and_its_last_epoch_by_followers_too(rig, version):
    """By that a replica that may have lost something is compared with the others (decision 013)."""
    put(rig, batch_of(), is_committed=False)
    for leader, epoch in ((0, EPOCH), (7, EPOCH + 3), (-1, EPOCH + 4)):
        topic = view_of(("t", 2, {}, epoch)).topics["t"]
        rig.replica.take_role(topic.partitions[0]._replace(leader=leader))
        told = list_offset(rig, version=version, replica_id=-2)
        assert (told.error_code, told.offset, told.leader_epoch) == (0, 1, EPOCH)
        assert told.timestamp == -3, "its high watermark is 0"
        if leader:
            assert ErrorCode(list_offset(rig, version=version).error_code) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert rig.seat.partitions.read(0).high_watermark == 0


@pytest.mark.parametrize("version", [2, 4, 11])
def test_nothing_above_the_high_watermark_is_sent_however_long_the_file_is(rig, version):
    """KAFKA-9835: the end of a read is the row's position, read once, and never the file's size."""
    put(rig, batch_of([(None, b"committed")]))
    row = rig.seat.partitions.read(0)
    for _ in range(3):
        put(rig, batch_of([(None, b"not yet")]), is_committed=False)
    assert rig.seat.partitions.read(0).end_position > row.hw_position
    found = fetch(rig, version)
    assert found.high_watermark == 1
    values = [
        record.value
        for position, size, _magic in iterate_entries(found.records)
        for record in iterate_entry_records(found.records[position : position + size])
    ]
    assert values == [b"committed"]


@pytest.mark.parametrize("min_bytes", [0, 1])
def test_a_partition_whose_row_is_torn_is_never_told_without_an_error(rig, monkeypatch, min_bytes):
    """Another one's records answer the fetch: a high watermark of -1 beside them would be taken for what the leader says."""
    put(rig, batch_of())
    table = type(rig.seat.partitions)
    read = table.read
    monkeypatch.setattr(table, "read", lambda self, slot: None if slot == 1 else read(self, slot))
    request = messages.FetchRequest
    rows = [request.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in (0, 1)]
    topics = [request.FetchTopic(topic="t", partitions=rows)]
    wanted = request(replica_id=CONSUMER, min_bytes=min_bytes, max_wait_ms=60_000, max_bytes=1 << 20, topics=topics)
    whole, torn = ask(rig, ApiKey.FETCH, FETCH_VERSION, wanted).responses[0].partitions
    assert (whole.error_code, whole.high_watermark, len(whole.records) > 0) == (0, 1, True)
    assert (ErrorCode(torn.error_code).name, torn.high_watermark) == ("NOT_LEADER_OR_FOLLOWER", -1)


# Compressed batches may say anything of their records' times


def far_batch(base_timestamp, deltas, codec=1):
    """As an enemy makes it: its records' times are beyond 64 bits."""
    records = [Record(index, delta, None, b"v") for index, delta in enumerate(deltas)]
    plain = bytes(build_batch(records)[HEADER_BYTES:])
    return batch_of(
        [(None, b"v")] * len(deltas), body=compress(codec, plain), codec=codec, base_timestamp=base_timestamp
    )


@pytest.mark.parametrize("deltas", [(0, 10), (0, 2**63 - 1), (0, -(2**63))])
def test_times_beyond_64_bits_close_no_reader_s_connection(rig, deltas):
    put(rig, far_batch(FAR_MS, deltas))
    put(rig, batch_of([(None, b"after")]))
    for timestamp in (0, 1, FAR_MS, -1, -2):
        for version in (1, 5):
            answer = list_offset(rig, timestamp, version)
            assert answer.error_code == 0
    for version in (0, 2, 3, 4, 11):
        found = fetch(rig, version)
        assert found.error_code == 0
        assert found.records
    assert len(list(iterate_records(bytes(fetch(rig, offset=2).records)))) == 1


def with_body(plain, largest_ms, body, codec):
    """A batch with another body and another largest time in its header."""
    head = bytearray(plain[:HEADER_BYTES])
    head[8:12] = (HEADER_BYTES - LOG_OVERHEAD_BYTES + len(body)).to_bytes(4, "big")
    head[21:23] = codec.to_bytes(2, "big")
    head[35:43] = largest_ms.to_bytes(8, "big")
    made = head + body
    made[17:21] = crc32c(bytes(made[21:])).to_bytes(4, "big")
    return made


def promising(count, largest_ms, codec=4):
    """A compressed batch whose header promises a record later than any of its own: nobody opens it before it is stored."""
    plain = build_batch([(None, b"v" * 100)] * count, timestamp_ms=1_000)
    return with_body(plain, largest_ms, compress(codec, bytes(plain[HEADER_BYTES:])), codec)


@pytest.mark.parametrize("timestamp", [5_000, MAX_TIMESTAMP])
def test_batches_that_promise_a_time_in_vain_are_opened_as_far_as_a_budget_goes(rig, monkeypatch, timestamp):
    """In one turn. The next one goes on, and the answer is the log's."""
    for _ in range(50):
        put(rig, promising(100, 9_000))
    put(rig, build_batch([(None, b"v")], timestamp_ms=6_000))
    monkeypatch.setattr(look_ups, "LOOK_UP_SHARE_COST", 60_000)
    opened = [0]
    real, do_work = batch_search.plain_chunks, rig.loop.do_work

    def count(*given):
        opened[-1] += 1
        return real(*given)

    monkeypatch.setattr(batch_search, "plain_chunks", count)
    monkeypatch.setattr(rig.loop, "do_work", lambda: opened.append(0) or do_work())
    found = list_offset(rig, timestamp, version=7)
    assert (found.error_code, found.offset, found.timestamp) == (0, 5_000, 6_000)
    assert sum(opened) >= 50
    assert max(opened) < 10


def test_offsets_that_a_compressed_batch_makes_up_are_not_passed_on_to_old_readers(rig):
    offsets = (0, 2**62, 2)
    body = build_batch([Record(offset, 0, None, b"v") for offset in offsets])[HEADER_BYTES:]
    put(rig, batch_of([(None, b"v")] * 3, body=compress(1, bytes(body)), codec=1))
    for version in (0, 2, 3):
        assert ErrorCode(fetch(rig, version).error_code).name == "CORRUPT_MESSAGE"
    assert fetch(rig, 4).error_code == 0, "those who open it themselves may judge it"


@pytest.mark.parametrize(("session_id", "epoch"), [(12_345, 1), (12_345, 2**31 - 1), (0, 1), (0, 7)])
@pytest.mark.parametrize("has_topics", [False, True])
def test_a_session_that_nobody_gave_out_is_not_found(rig, session_id, epoch, has_topics):
    """KIP-227. Answered with nothing and no error, a client that believes in one would ask again and again."""
    kind = messages.FetchRequest
    topics = [kind.FetchTopic(topic="t", partitions=[kind.FetchPartition(partition=0)])] if has_topics else []
    request = kind(max_wait_ms=60_000, session_id=session_id, session_epoch=epoch, topics=topics)
    for version in (7, FETCH_VERSION):
        answer = ask(rig, ApiKey.FETCH, version, request)
        assert (answer.error_code, answer.session_id, answer.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_session_that_is_wanted_is_declined(rig, epoch):
    kind = messages.FetchRequest
    topics = [kind.FetchTopic(topic="t", partitions=[kind.FetchPartition(partition=0)])]
    request = kind(max_wait_ms=0, session_id=0, session_epoch=epoch, topics=topics)
    answer = ask(rig, ApiKey.FETCH, FETCH_VERSION, request)
    assert (answer.error_code, answer.session_id, len(answer.responses)) == (ErrorCode.NONE, 0, 1)


def test_what_the_partitions_of_an_old_fetch_share_is_counted_once(monkeypatch):
    """v0 to v3 share a bound of what is converted: each partition counted all of the request."""
    walks, shares = Counter(), []
    monkeypatch.setattr(
        down_conversion, "find", lambda _reader, _version, _offset, _limit, share, *_: shares.append(share)
    )
    topics = CountedList([SimpleNamespace(partitions=CountedList(range(3), walks)) for _ in range(2)], walks)
    policy = SimpleNamespace(serves_old_readers=True)
    context = SimpleNamespace(
        is_rack_aware=False,
        routes=SimpleNamespace(policy=lambda _topic: policy),
        files=SimpleNamespace(reader=lambda _route, _row: None),
    )
    fetch = a01_fetch._Fetch(context, SimpleNamespace(api_version=2), SimpleNamespace(topics=topics, rack_id=""))
    fetch.room = 1
    walks.count = 0
    row = SimpleNamespace(hw_segment=0, hw_position=0)
    for _ in range(6):
        fetch._find_old(SimpleNamespace(topic="t"), row, SimpleNamespace(fetch_offset=0), 100, True)
    assert shares == [6] * 6
    assert walks.count == 0
