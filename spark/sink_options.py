"""The options of the sink: the connector's, and Kafka's producer properties as `kafka.*` options name them.

A value that Kafka's producer would refuse is refused; a property that tunes nothing in ours is accepted and has no effect. What ours can't
do is refused: transactions, classes of Java, TLS and SASL.

Source: Spark's Kafka integration guide; Kafka 3.9 `ProducerConfig`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.engine.producing_options import ACKS_ALL, ACKS_LEADER, ACKS_NONE, ProducingOptions
from headrace.client.producer_options import CODECS
from headrace.spark.consumer_properties import BOOTSTRAP_SERVERS, PREFIX, refuse_security
from headrace.spark.options import bool_of, number_of

EXACTLY_ONCE = "headrace.exactly.once"
ALIKE_BATCH = "headrace.exactly.once.alike"
TXN_APP_ID, TXN_VERSION = "txnAppId", "txnVersion"  # Delta's
FORBIDDEN = {
    "kafka.key.serializer": "keys are written as binary or string",
    "kafka.value.serializer": "values are written as binary or string",
    "kafka.transactional.id": "transactions are not supported yet",
    "kafka.interceptor.classes": "a Java class can't run here",
    "kafka.partitioner.class": "a Java class can't run here; a column partition places records",
}
ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "1": ACKS_LEADER, "0": ACKS_NONE}
USED = (
    "acks",
    "batch.size",
    "bootstrap.servers",
    "buffer.memory",
    "compression.type",
    "delivery.timeout.ms",
    "enable.idempotence",
    "linger.ms",
    "request.timeout.ms",
    "security.protocol",
)
WITHOUT_EFFECT = (
    "auto.include.jmx.reporter",
    "client.dns.lookup",
    "client.id",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "connections.max.idle.ms",
    "enable.metrics.push",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "metadata.max.age.ms",
    "metadata.max.idle.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "partitioner.ignore.keys",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Where records go.

    topic             of all records, whatever the column topic says; '' for the column's
    is_exactly_once   each row is stored once, however often its task runs
    alike_batch       the micro-batch whose tasks may have the same rows; None for none
    txn_app_id        of who writes numbered batches, each of which is stored once; '' for none
    txn_version       the number of this batch
    """

    bootstrap_servers: str
    topic: str
    producer: ProducingOptions
    is_exactly_once: bool = False
    alike_batch: int | None = None
    txn_app_id: str = ""
    txn_version: int = 0


def parse_sink_options(options: Mapping[str, str]) -> SinkOptions:
    """The options of a writer.

    raises   ValueError, naming option, value and reason
    """
    given = {key.lower(): str(value) for key, value in options.items()}
    for option, value in given.items():
        if option in FORBIDDEN:
            raise ValueError(f"option {option} is not supported: {FORBIDDEN[option]}")
        refuse_security(option, value)
        if option.startswith(PREFIX) and option.removeprefix(PREFIX) not in (*USED, *WITHOUT_EFFECT):
            warnings.warn(f"option {option} is not a Kafka producer property: ignored", stacklevel=2)
    servers = given.get(BOOTSTRAP_SERVERS, "").strip()
    if not servers:
        raise ValueError(f"option {BOOTSTRAP_SERVERS} must be set")
    topic = given.get("topic", "").strip()
    if "topic" in given and not topic:
        raise ValueError("option topic is empty")
    producer = _producer_options(given)
    is_exactly_once = bool_of(given, EXACTLY_ONCE, False)
    if is_exactly_once and not topic:
        raise ValueError(f"option {EXACTLY_ONCE} needs the option topic, to find what was already written")
    if is_exactly_once and not producer.is_idempotent:
        raise ValueError(f"option {EXACTLY_ONCE} needs kafka.acks all and kafka.enable.idempotence")
    alike_batch = number_of(given, ALIKE_BATCH, 0)
    if alike_batch is not None and not is_exactly_once:
        raise ValueError(f"option {ALIKE_BATCH} needs option {EXACTLY_ONCE}")
    app_id, version = given.get(TXN_APP_ID.lower(), "").strip(), number_of(given, TXN_VERSION, 0)
    if bool(app_id) != (version is not None) or (app_id and not is_exactly_once):
        raise ValueError(
            f"options {TXN_APP_ID} (not empty) and {TXN_VERSION} must be given together, with {EXACTLY_ONCE}"
        )
    return SinkOptions(servers, topic, producer, is_exactly_once, alike_batch, app_id, version or 0)


def _producer_options(given: Mapping[str, str]) -> ProducingOptions:
    """A task that has lost a record fails as a whole, so its producer ends at its first failure."""
    default = ProducingOptions()
    acks = _choice(given, "kafka.acks", ACKS, "all")
    numbers = {
        field: number_of(given, option, least, int(getattr(default, field)))
        for field, option, least in (
            ("linger_ms", "kafka.linger.ms", 0),
            ("batch_size", "kafka.batch.size", 1),
            ("buffer_memory", "kafka.buffer.memory", 1),
            ("request_timeout_ms", "kafka.request.timeout.ms", 1),
            ("delivery_timeout_ms", "kafka.delivery.timeout.ms", 1),
        )
    }
    is_idempotent = bool_of(given, "kafka.enable.idempotence", acks == ACKS_ALL)
    if is_idempotent and acks != ACKS_ALL:
        raise ValueError(f"option kafka.acks {given['kafka.acks']!r} must be all with kafka.enable.idempotence")
    codec = _choice(given, "kafka.compression.type", CODECS, "none")
    try:
        return ProducingOptions(
            acks=acks, codec=codec, is_idempotent=is_idempotent, ends_at_failure=True, **numbers  # type: ignore[arg-type]
        )  # fmt: skip
    except ValueError as failure:
        raise ValueError(f"option kafka.{failure}") from None


def _choice(given: Mapping[str, str], option: str, choices: Mapping[str, int], default: str) -> int:
    text = given.get(option, default).strip().lower()
    if text not in choices:
        raise ValueError(f"option {option} {given[option]!r} must be {', '.join(choices)}")
    return choices[text]
