"""What topics ask of records, asked of a real node by real clients: keys, a codec, a look inside."""

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.errors import ErrorCode
from headrace.protocol.record_batch import Record, build_batch, iterate_batches, iterate_records
from tests.support.old_client import NOW_MS, OldClient
from tests.support.waiting import DEADLINE_S

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def created(node, name, **configs):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    made = admin.create_topics([NewTopic(name, 1, 1, config={k.replace("_", "."): v for k, v in configs.items()})])
    made[name].result(DEADLINE_S)
    return name


def write(node, topic, codec, records):
    """Delivery errors by name, None for each record that was taken."""
    outcome = []
    producer = Producer({"bootstrap.servers": node.bootstrap, "compression.type": codec, "linger.ms": 50})
    for key, value in records:
        producer.produce(topic, value, key=key, on_delivery=lambda error, _m: outcome.append(error and error.name()))
    assert producer.flush(DEADLINE_S) == 0
    return outcome


@pytest.mark.parametrize("codec", CODECS)
def test_a_compacted_topic_refuses_records_without_a_key_and_takes_the_others(node, codec):
    topic = created(node, f"policy-keys-{codec}", cleanup_policy="compact")
    assert write(node, topic, codec, [(None, b"1")]) == ["INVALID_RECORD"]
    assert write(node, topic, codec, [(b"a", b"1"), (b"b", None)]) == [None, None]


def test_the_response_names_every_record_at_fault(node):
    topic = created(node, "policy-which", cleanup_policy="compact")
    client = OldClient(*node.address)
    batch = build_batch([(b"a", b"1"), (None, b"2"), (None, b"3")], timestamp_ms=NOW_MS)
    for version in (3, 8, 9):
        result = client.produce(version, topic, batch)
        assert result.error_code == ErrorCode.INVALID_RECORD
        if version >= 8:
            assert result.error_message == "2 records from 1 on: no key, which a compacted topic requires"
            assert [fault.batch_index for fault in result.record_errors] == [1, 2]
    client.connection.close()


@pytest.mark.parametrize("kind", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_every_batch_lies_in_the_codec_of_its_topic(node, kind):
    topic = created(node, f"policy-codec-{kind}", compression_type=kind)
    records = [(b"%d" % number, b"value" * 2_000) for number in range(30)]
    for codec in CODECS:
        assert write(node, topic, codec, records) == [None] * len(records)
    client = OldClient(*node.address)
    batches = list(iterate_batches(client.fetch(11, topic, limit=1 << 24).records))
    wanted = ["uncompressed", "gzip", "snappy", "lz4", "zstd"].index(kind)
    assert {header.codec for _position, header, _batch in batches} == {wanted}
    found = [(one.offset, one.key, one.value) for _p, _h, batch in batches for one in iterate_records(batch)]
    assert found == [(index, *records[index % 30]) for index in range(150)]
    client.connection.close()


def test_append_time_and_a_codec_of_the_topic_go_together(node):
    topic = created(node, "policy-time", compression_type="zstd", message_timestamp_type="LogAppendTime")
    assert write(node, topic, "lz4", [(b"k", b"v" * 1_000)]) == [None]
    client = OldClient(*node.address)
    ((_position, header, batch),) = iterate_batches(client.fetch(11, topic).records)
    assert header.is_log_append_time
    assert header.codec == 4
    assert abs(next(iterate_records(batch)).timestamp_ms - time.time() * 1000) < 60_000
    client.connection.close()


def test_compressed_records_that_lie_are_refused_where_the_deep_check_is_on(node, node_factory):
    for running, error in ((node, 0), (node_factory("deep", "headrace.validate.records.deep=true"), 87)):
        topic = created(running, "policy-deep")
        client = OldClient(*running.address)
        assert client.produce(8, topic, lie(codec=4)).error_code == error
        assert client.produce(8, topic, lie(codec=0)).error_code == 87, "uncompressed ones are always looked at"
        assert client.produce(8, topic, build_batch([(b"k", b"v")] * 3, timestamp_ms=NOW_MS)).error_code == 0
        client.connection.close()


def lie(codec):
    """Two records, offsets 0 and 5."""
    batch = bytearray(build_batch([Record(0, NOW_MS, b"k", b"v"), Record(5, NOW_MS, b"k", b"v")], codec=codec))
    batch[23:27] = (1).to_bytes(4, "big")
    batch[17:21] = checksum(batch)
    return bytes(batch)


def checksum(batch):
    from headrace.protocol.record_batch import compute_crc

    return compute_crc(batch).to_bytes(4, "big")
