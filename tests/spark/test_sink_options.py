"""The sink's options: the connector's names, the producer's properties, what is refused."""

import pytest

from headrace.client.engine.producing_options import ACKS_ALL, ACKS_LEADER, ProducingOptions
from headrace.protocol.compression import Codec
from headrace.spark.sink_options import FORBIDDEN, parse_sink_options

BASE = {"kafka.bootstrap.servers": "h:1", "topic": "a"}


def parse(**options):
    return parse_sink_options({**BASE, **options})


def test_without_options_the_producer_is_ours():
    found = parse()
    own = ProducingOptions(is_idempotent=True, ends_at_failure=True)
    assert (found.bootstrap_servers, found.topic, found.producer) == ("h:1", "a", own)
    assert found.producer.acks == ACKS_ALL
    assert found.producer.is_idempotent


def test_properties_of_the_producer_by_kafkas_names(recwarn):
    found = parse(
        **{
            "kafka.acks": "1",
            "kafka.Compression.Type": "zstd",
            "kafka.linger.ms": "20",
            "kafka.batch.size": "1000",
            "kafka.buffer.memory": "5000",
            "kafka.request.timeout.ms": "7000",
            "kafka.delivery.timeout.ms": "9000",
            "kafka.max.in.flight.requests.per.connection": "5",
            "kafka.security.protocol": "PLAINTEXT",
            "checkpointLocation": "/x",
        }
    ).producer
    assert found == ProducingOptions(
        acks=ACKS_LEADER,
        codec=Codec.ZSTD,
        is_idempotent=False,
        linger_ms=20,
        batch_size=1000,
        buffer_memory=5000,
        request_timeout_ms=7000,
        delivery_timeout_ms=9000,
        ends_at_failure=True,
    )
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"kafka\.group\.id is not a Kafka producer property"):
        parse(**{"kafka.group.id": "g"})


@pytest.mark.parametrize("option", FORBIDDEN)
def test_what_can_not_be_done_is_refused(option):
    with pytest.raises(ValueError, match=f"option {option} is not supported"):
        parse(**{option.upper(): "x"})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topic": " "}, "option topic is empty"),
        ({"kafka.bootstrap.servers": ""}, "option kafka.bootstrap.servers must be set"),
        ({"kafka.acks": "2"}, "option kafka.acks '2' must be all, -1, 1, 0"),
        ({"kafka.acks": "1", "kafka.enable.idempotence": "true"}, "option kafka.acks '1' must be all with"),
        ({"kafka.compression.type": "zip"}, "option kafka.compression.type 'zip' must be none, gzip"),
        ({"kafka.batch.size": "0"}, "option kafka.batch.size 0 must be at least 1"),
        ({"kafka.batch.size": "99999999"}, r"option kafka.batch.size: 99999999: expected 1 to buffer.memory"),
        ({"kafka.delivery.timeout.ms": "1"}, r"option kafka.delivery.timeout.ms: 1: below linger.ms \(5\)"),
        (
            {"txnAppId": "a", "headrace.exactly.once": "true"},
            "options txnAppId .* and txnVersion must be given together",
        ),
        (
            {"txnVersion": "1", "headrace.exactly.once": "true"},
            "options txnAppId .* and txnVersion must be given together",
        ),
        ({"txnAppId": "a", "txnVersion": "1"}, "must be given together, with headrace.exactly.once"),
        ({"headrace.exactly.once.alike": "3"}, "option headrace.exactly.once.alike needs option headrace.exactly.once"),
        (
            {"txnAppId": "a", "txnVersion": "-1", "headrace.exactly.once": "true"},
            "option txnVersion -1 must be at least 0",
        ),
        ({"kafka.linger.ms": "x"}, "option kafka.linger.ms 'x' must be a whole number"),
        ({"kafka.enable.idempotence": "no"}, "option kafka.enable.idempotence 'no' must be true or false"),
        ({"kafka.ssl.keystore.password": "secret"}, "kafka.ssl.keystore.password is not supported"),
    ],
)
def test_what_makes_no_sense_is_refused(options, reason):
    with pytest.raises(ValueError, match=reason) as failure:
        parse(**options)
    assert "secret" not in str(failure.value)
