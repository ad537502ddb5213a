"""What the node compressed itself, Kafka's own client and dump tool read."""

import random

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("kind", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_the_java_client_reads_every_codec_of_the_node(node, java_client, tools, topic, codec, kind):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config={"compression.type": kind})])[topic].result(15)
    chance = random.Random(1)
    records = [(b"%d" % number, chance.randbytes(3_000) + bytes(3_000), []) for number in range(100)]  # many blocks
    producer = Producer({"bootstrap.servers": node.bootstrap, "compression.type": codec, "linger.ms": 200})
    for key, value, _headers in records:
        producer.produce(topic, value, key=key)
    assert producer.flush(20) == 0
    assert java_client.read(node.bootstrap, topic, len(records)) == records
    report = tools.dump(*(node.log_dir / f"{topic}-0").glob("*.log"))
    assert "isvalid: false" not in report
    assert f"compresscodec: {kind.replace('uncompressed', 'none')}" in report.lower()
