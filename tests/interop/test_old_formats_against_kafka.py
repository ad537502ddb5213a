"""Old clients' requests get the answers that Apache Kafka 3.9 gives, and logs of v0 and v1 that it wrote are served."""

import time
import zlib
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.protocol.message_set import build_message_set, encode_message, iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import Record, build_batch
from tests.support.old_client import NOW_MS, OldClient, entries, old_set, read_old

pytestmark = pytest.mark.interop

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDS = [(b"key", b"value"), (None, b"no key"), (b"no value", None), (b"", b""), (b"k" * 300, b"v" * 5_000)]
KEYED = [(b"key %d" % number, b"value") for number in range(5)]
CODECS = (0, 1, 2, 3)
TOPICS = {
    "plain": {},
    "gzip": {"compression.type": "gzip"},
    "snappy": {"compression.type": "snappy"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "uncompressed": {"compression.type": "uncompressed"},
    "compacted": {"cleanup.policy": "compact"},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "bounded": {"message.timestamp.before.max.ms": "1000"},
    "stubborn": {"message.downconversion.enable": "false"},
}


def as_wrapper(inner, magic=1, offset=0, attributes=1):
    return encode_message(offset, magic, NOW_MS, None, zlib.compress(inner, wbits=31), attributes)


PAIR = [Record(0, NOW_MS, b"a", b"v"), Record(1, NOW_MS + 1, b"b", b"w")]
ODD_SETS = [
    old_set(KEYED, 1, 1) * 2,
    old_set(KEYED, 1) + old_set(KEYED, 0),
    old_set(KEYED, 0) + old_set(KEYED, 1),
    old_set(KEYED, 1) + old_set(KEYED, 1, 1),
    as_wrapper(as_wrapper(build_message_set(PAIR, 1))),
    as_wrapper(build_message_set(PAIR, 0)),
    as_wrapper(build_message_set(PAIR, 1), offset=1),
    as_wrapper(build_message_set(PAIR, 1), offset=7),
    as_wrapper(build_message_set([PAIR[1]._replace(offset=9)], 1), offset=3),
    as_wrapper(build_message_set(PAIR, 1)[:-3] + b"xyz"),
    as_wrapper(build_message_set(PAIR, 1), attributes=9),
    as_wrapper(b""),
    encode_message(0, 1, 0, None, None, 1),
    encode_message(0, 1, NOW_MS, b"k", b"v", 8),
    encode_message(0, 1, NOW_MS, b"k", b"v")[:-1] + b"x",
    encode_message(0, 1, NOW_MS, None, bytes(1_048_588)),
    old_set([(b"k", bytes(500_000))] * 3, 1),
    build_batch(KEYED, timestamp_ms=NOW_MS),
    build_batch([(None, b"v")], timestamp_ms=NOW_MS),
    build_batch(KEYED, timestamp_ms=NOW_MS) * 2,
]


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    """(headrace, kafka), each with the same topics."""
    from bench.nodes import Headrace, Kafka

    running = [make(tmp_path_factory.mktemp(make.name)) for make in (Headrace, Kafka)]
    for server in running:
        server.start()
        create(server, TOPICS)
    yield running
    for server in running:
        server.stop()


def create(server, topics):
    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    for future in admin.create_topics(
        [NewTopic(name, 1, 1, config=config) for name, config in topics.items()]
    ).values():
        future.result(30)


def client_of(server):
    host, _, port = server.bootstrap.rpartition(":")
    return OldClient(host, int(port))


def answers(server, topic, requests):
    """What a server answers to produces, then to fetches of each old version."""
    client = client_of(server)
    produced = []
    for version, data in requests:
        result = client.produce(version, topic, data)
        stamped = result.log_append_time_ms >= 0
        produced.append((result.error_code, result.base_offset, stamped))
    append_time = topic == "append-time"
    fetched = {}
    for version in range(4):
        answer = client.fetch(version, topic)
        found = read_old(answer.records or b"")
        fetched[version] = (
            answer.error_code,
            answer.high_watermark,
            [(*one[:2], None if append_time else one[2], *one[3:]) for one in found],
            sorted({entry[17] for entry in entries(answer.records or b"")}),
        )
    client.connection.close()
    return produced, fetched


def compare(ours, kafka_s):
    """Piece by piece. Kafka cuts what it converted at the size that it had before, so it may give fewer records."""
    assert ours[0] == kafka_s[0]
    for version in range(4):
        my_error, my_end, mine, my_attributes = ours[1][version]
        error, end, theirs, attributes = kafka_s[1][version]
        assert (my_error, my_end) == (error, end), version
        assert set(attributes) <= set(my_attributes), version
        assert [str(one)[:60] for one in mine[: len(theirs)]] == [str(one)[:60] for one in theirs], version
        assert mine[: len(theirs)] == theirs, version
        assert bool(mine) == bool(theirs), version


@pytest.mark.parametrize("topic", TOPICS)
def test_sets_of_every_codec_are_answered_and_given_back_as_kafka_does(peers, topic):
    requests = [
        (version, old_set(records, int(version == 2), codec))
        for version in range(3)
        for codec in CODECS
        for records in (RECORDS, KEYED)
    ]
    ours, kafka_s = (answers(server, topic, requests) for server in peers)
    compare(ours, kafka_s)
    assert topic == "bounded" or any(not error for error, _offset, _stamped in ours[0])


@pytest.mark.parametrize("number", range(len(ODD_SETS)))
def test_odd_sets_are_answered_as_kafka_does(peers, number):
    topic = {f"odd-{number}": {}, f"odd-{number}-keys": {"cleanup.policy": "compact"}}
    for server in peers:
        create(server, topic)
    for name in topic:
        ours, kafka_s = (answers(server, name, [(2, ODD_SETS[number])]) for server in peers)
        compare(ours, kafka_s)


@pytest.mark.parametrize("limit", [10, 1_000, 6_000, 100_000])
def test_limits_cut_as_kafka_s_do(peers, limit):
    name = {f"limits-{limit}": {}}
    for server in peers:
        create(server, name)
    (topic,) = name
    found = []
    for server in peers:
        client = client_of(server)
        for codec in CODECS:
            assert not client.produce(2, topic, old_set(RECORDS * 3, 1, codec)).error_code
        found.append(
            [
                [
                    [one[1] for one in read_old(client.fetch(version, topic, offset, limit).records)]
                    for offset in (0, 17, 31)
                ]
                for version in range(4)
            ]
        )
        client.connection.close()
    ours, kafka_s = found
    for version in range(4):
        for mine, theirs in zip(ours[version], kafka_s[version], strict=True):
            assert mine[: len(theirs)] == theirs or theirs[: len(mine)] == mine
            assert mine or not theirs, "Kafka needs a limit that the whole batch fits, we send what fits of it"


@pytest.mark.parametrize(("version", "magic"), [("0.9.0", 0), ("0.10.2", 1)])
def test_a_log_that_kafka_wrote_in_an_old_format_is_served_whole(tmp_path, tools, version, magic):
    from bench.nodes import Headrace, Kafka

    kafka = Kafka(tmp_path, {"inter.broker.protocol.version": "2.8"})
    kafka.start()
    try:
        create(
            kafka, {"old": {"message.format.version": version, "segment.bytes": "20000", "index.interval.bytes": "500"}}
        )
        client = client_of(kafka)
        for number in range(8):
            for codec in CODECS:
                assert not client.produce(2, "old", old_set(RECORDS, 1, codec)).error_code, number
                assert not client.produce(3 + 0, "old", build_batch(KEYED, timestamp_ms=NOW_MS)).error_code
        before = everything(client)
        fetched = {v: read_old(client.fetch(v, "old", 100, 1 << 22).records) for v in range(4)}
        client.connection.close()
    finally:
        kafka.stop()
    segments = sorted((tmp_path / "logs" / "old-0").glob("*.log"))
    assert len(segments) > 2
    assert {m for path in segments for _p, _s, m in iterate_entries(path.read_bytes())} == {magic}
    for clean in (True, False):
        if not clean:
            (tmp_path / "logs" / ".kafka_cleanshutdown").unlink()
            for path in (tmp_path / "logs" / "old-0").glob("*index"):
                path.unlink()
        ours = Headrace(tmp_path)
        ours.start()
        try:
            client = client_of(ours)
            assert everything(client) == before
            for v in range(4):
                mine = read_old(client.fetch(v, "old", 100, 1 << 22).records)
                assert mine == fetched[v][: len(mine)]
                assert mine
            client.connection.close()
        finally:
            ours.stop()
        report = tools.dump(*segments)
        assert "isvalid: false" not in report


def test_kafka_goes_on_with_a_log_of_old_and_new_entries_that_a_node_left(tmp_path, tools):
    from bench.nodes import Headrace, Kafka

    settings = {"inter.broker.protocol.version": "2.8"}
    kafka = Kafka(tmp_path, settings)
    kafka.start()
    try:
        create(kafka, {"old": {"message.format.version": "0.10.2", "segment.bytes": "20000"}})
        client = client_of(kafka)
        for codec in CODECS * 3:
            assert not client.produce(2, "old", old_set(RECORDS, 1, codec)).error_code
        client.connection.close()
    finally:
        kafka.stop()
    ours = Headrace(tmp_path)
    ours.start()
    try:
        client = client_of(ours)
        for codec in CODECS * 3:
            assert not client.produce(1, "old", old_set(RECORDS, 0, codec)).error_code
        before = everything(client)
        client.connection.close()
    finally:
        ours.stop()
    segments = sorted((tmp_path / "logs" / "old-0").glob("*.log"))
    assert {m for path in segments for _p, _s, m in iterate_entries(path.read_bytes())} == {1, 2}
    assert "isvalid: false" not in tools.dump(*segments)
    kafka = Kafka(tmp_path, settings)
    kafka.start()
    try:
        client = client_of(kafka)
        assert everything(client) == before
        assert len(before) == 2 * 3 * len(CODECS) * len(RECORDS)
        client.connection.close()
    finally:
        kafka.stop()


def everything(client):
    """All records as a client of today reads them."""
    found, offset = [], 0
    deadline = time.monotonic() + 30
    while True:
        answer = client.fetch(4, "old", offset, 1 << 16)
        if answer.error_code in (3, 5, 6) and time.monotonic() < deadline:
            continue  # just started: it has not been told yet what it leads
        assert not answer.error_code
        data = answer.records
        for position, size, _magic in iterate_entries(data):
            found += [one for one in iterate_entry_records(data[position : position + size]) if one.offset >= offset]
        if offset == answer.high_watermark:
            return found
        offset = found[-1].offset + 1
