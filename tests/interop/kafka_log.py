"""Log directories as Apache Kafka writes them: every codec, headers, nulls, transactions, compaction, deleted segments, old formats."""

import random
import time
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

# (key, value, headers)
RECORDS = [
    (b"key", b"value", [("name", b"content"), ("empty", b""), ("null", None)]),
    (None, b"no key", []),
    (b"no value", None, []),
    (None, None, [("only", b"a header")]),
    (b"", b"", []),
    (b"k" * 300, b"v" * 5_000, [("h" * 100, b"x" * 1_000)]),
    (bytes(range(256)), bytes(range(255, -1, -1)), [("same", b"1"), ("same", b"2")]),
]
ROOT = Path(__file__).resolve().parent.parent.parent
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SEED = 20_250_301
PATIENCE_S = 60
COMPACTED_ROUNDS = 30
KEYED_RECORDS = 80
TRIMMED_TO = 123
SETTINGS = {
    "inter.broker.protocol.version": "2.8",  # the last one under which message.format.version counts
    "num.partitions": "1",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "log.cleaner.io.buffer.size": "100000",
    "log.retention.check.interval.ms": "500",
    "log.index.interval.bytes": "400",
    "log.segment.delete.delay.ms": "100",
    "log.initial.task.delay.ms": "500",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "log.cleaner.enable": "true",
}
TOPICS = {
    "codecs": {"segment.bytes": "20000"},
    "headers": {},
    "transactions": {"segment.bytes": "6000"},
    "compacted": {
        "cleanup.policy": "compact", "segment.bytes": "6000", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "100", "segment.ms": "1000",
    },
    "compacted-transactions": {
        "cleanup.policy": "compact", "segment.bytes": "3000", "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "100", "segment.ms": "1000",
    },
    "retained": {"segment.bytes": "6000", "retention.bytes": "20000"},
    "trimmed": {"segment.bytes": "6000"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "format-v0": {"message.format.version": "0.9.0", "segment.bytes": "20000"},
    "format-v1": {"message.format.version": "0.10.2", "segment.bytes": "20000"},
    "empty": {},
}  # fmt: skip
HEADRACE_SETTINGS = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.index.interval.bytes": "400",
    "log.segment.delete.delay.ms": "100",
}
OLD_FORMATS = ("format-v0", "format-v1")


def start(kind, directory, settings=None):
    """A broker in a directory, `kafka` or `headrace`, with a ZooKeeper of its own there."""
    from bench.nodes import Headrace, Kafka

    server = {"kafka": Kafka, "headrace": Headrace}[kind](directory, settings)
    server.start()
    return server


def create_topics(bootstrap, topics=None):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = TOPICS if topics is None else topics
    wanted = [NewTopic(name, 1, 1, config=config) for name, config in topics.items()]
    for future in admin.create_topics(wanted).values():
        future.result(PATIENCE_S)


def write(bootstrap, topic, records, codec="none", **settings):
    """(key, value, headers) records into partition 0, in small batches."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5, "batch.num.messages": 7, **settings}
    )
    failures = []
    for key, value, headers in records:
        producer.produce(
            topic,
            value,
            key=key,
            headers=headers,
            partition=0,
            on_delivery=lambda error, _m: error and failures.append(error),
        )
    assert producer.flush(PATIENCE_S) == 0
    assert not failures, failures[0]


def write_transactions(bootstrap, topic, count=20):
    """Transactions with 1 to 30 records, every third one aborted; the values of those that were committed."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-writer", "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)
    committed = []
    for number in range(count):
        producer.begin_transaction()
        values = [b"transaction %d record %d" % (number, record) for record in range(1 + 7 * number % 30)]
        for value in values:
            producer.produce(topic, value, key=b"%d" % (number % 7), partition=0)
        producer.flush(PATIENCE_S)
        if number % 3 == 2:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
            committed += values
    return committed


def fill(bootstrap, records):
    """Write into all of TOPICS, and wait until the cleaner and retention have been there."""
    rng = random.Random(SEED)
    plain = [(b"key %d" % n, bytes(rng.randbytes(20).hex(), "ascii") * 3, []) for n in range(150)]
    for codec in CODECS:
        write(bootstrap, "codecs", [(k, v, [("n", codec.encode())]) for k, v, _headers in plain], codec)
        write(bootstrap, "codecs", plain[:30], codec, **{"enable.idempotence": True})
        write(bootstrap, "headers", records, codec)
        write(bootstrap, "stamped", plain[:20], codec)
        if codec != "zstd":
            for topic in OLD_FORMATS:
                write(bootstrap, topic, [*plain, (None, b"no key", []), (b"no value", None, [])], codec)
    write_transactions(bootstrap, "transactions")
    write_transactions(bootstrap, "compacted-transactions", 60)
    write(bootstrap, "retained", plain * 4)
    write(bootstrap, "trimmed", plain * 2)
    delete_records(bootstrap, "trimmed", TRIMMED_TO)
    fill_compacted(bootstrap)
    wait_until(lambda: len(read(bootstrap, "compacted-transactions")) < 400, "compaction of transactions")
    wait_until(lambda: min(read(bootstrap, "retained")) > 0, "retention")


def fill_compacted(bootstrap):
    """40 keys again and again, one of them deleted each time; returns when the most of it has been compacted."""
    for number in range(COMPACTED_ROUNDS):
        keyed = [(b"%d" % (n % 40), None if n % 40 == 7 else b"%d" % number * 20, []) for n in range(KEYED_RECORDS)]
        write(bootstrap, "compacted", keyed, CODECS[number % 5])
    wait_until(lambda: len(read(bootstrap, "compacted")) < COMPACTED_ROUNDS * KEYED_RECORDS // 2, "compaction")


def delete_records(bootstrap, topic, offset):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(PATIENCE_S)


def wait_until(is_so, what):
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s, f"{what} did not happen"
        time.sleep(0.2)


def read(bootstrap, topic, is_committed=False):
    """{offset: (timestamp type and time, key, value, headers)} of partition 0, up to its end as it is now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False, "check.crcs": True,
            "isolation.level": "read_committed" if is_committed else "read_uncommitted", "enable.partition.eof": True,
        }
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = {}
    deadline_s = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline_s:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                if message.error().name() == "_PARTITION_EOF":
                    return found
                raise AssertionError(f"{topic}: {message.error()}")
            found[message.offset()] = (message.timestamp(), message.key(), message.value(), message.headers() or [])
    finally:
        consumer.close()
    raise AssertionError(f"{topic}: {len(found)} records, and no end")
