"""A member of a group that copies a topic, partition by partition: `python -m tests.scenarios.copier BOOTSTRAP SOURCE TARGET GROUP`.

Used by: `test_group_mode.py`. It commits what its producer has had acknowledged, so a record is copied once or again, and never left
out. Prints how many records it copied, after each commit. SIGTERM: it leaves its group after a commit.
"""

import signal
import sys

from confluent_kafka import Consumer, KafkaException, Producer

BATCH = 200
POLL_S = 0.5
FLUSH_S = 60


def main(bootstrap, source, target, group):
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 2,
            "enable.auto.commit": False, "session.timeout.ms": 10_000,
        }
    )  # fmt: skip
    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5, "log_level": 2}
    )
    failures = []
    consumer.subscribe([source])
    copied = 0
    while not stopped:
        batch = [one for one in consumer.consume(BATCH, POLL_S) if not one.error()]
        for one in batch:
            producer.produce(
                target,
                one.value(),
                partition=one.partition(),
                on_delivery=lambda error, _: error and failures.append(error),
            )
        if producer.flush(FLUSH_S) or failures:
            print(f"not copied: {failures[:1]}", file=sys.stderr)
            return 1
        if batch:
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as failure:
                print(f"not committed: {failure}", file=sys.stderr)  # whoever has the partition next copies again
                continue
            copied += len(batch)
            print(copied, flush=True)
    consumer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
