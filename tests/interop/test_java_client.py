"""The Java client against a node: what it writes librdkafka reads, and the other way round, byte for byte."""

import random

import pytest

pytestmark = pytest.mark.interop

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SEED = 20_240_611


@pytest.mark.parametrize("codec", CODECS)
def test_what_java_writes_librdkafka_and_java_read(node, java_client, librdkafka, topic, records, codec):
    java_client.write(node.bootstrap, topic, records, codec)
    assert librdkafka.read(node.bootstrap, topic, len(records)) == records
    assert java_client.read(node.bootstrap, topic, len(records)) == records


@pytest.mark.parametrize("codec", CODECS)
def test_what_librdkafka_writes_java_reads(node, java_client, librdkafka, topic, records, codec):
    librdkafka.write(node.bootstrap, topic, records, codec)
    assert java_client.read(node.bootstrap, topic, len(records)) == records


def test_an_idempotent_java_producer_is_served(node, java_client, topic, records):
    java_client.write(node.bootstrap, topic, records * 50, idempotent=True)
    assert java_client.read(node.bootstrap, topic, len(records) * 50) == records * 50


def test_a_record_of_a_mebibyte_goes_both_ways(node, java_client, librdkafka, topic):
    print("seed", SEED)
    large = [(b"large", random.Random(SEED).randbytes(1_048_000), [])]
    java_client.write(node.bootstrap, topic, large)
    assert librdkafka.read(node.bootstrap, topic, 1) == large
    librdkafka.write(node.bootstrap, topic, large)
    assert java_client.read(node.bootstrap, topic, 2) == large * 2
