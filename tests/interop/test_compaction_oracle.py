"""Apache Kafka's log cleaner and ours, on the same files: the same records are left, in the same batches, and the same empty ones.

Kafka's dump tool then reads ours, and Kafka serves it.
"""

import os
import random
import shutil
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import read_offset_checkpoint
from tests.support.compaction_fixtures import (
    batches_of,
    compaction_of,
    in_transaction,
    keyed,
    marker,
    run,
    write_segments,
)
from tests.support.log_fixtures import LogMaker

pytestmark = pytest.mark.interop

TOPIC = "oracle"
PRODUCERS = (70, 71, 72)  # the last one without transactions
DEADLINE_S = 60
CONFIG = LogConfig(is_compacted=True, index_interval_bytes=4096)


def made_segments(seed):
    """Segments of every kind of batch; the last one stays active."""
    chance = random.Random(seed)
    now_ms = int(time.time() * 1000)
    sequences, open_, offset, batches = dict.fromkeys(PRODUCERS, 0), set(), 0, []

    def rows():
        return [
            (b"key-%d" % chance.randrange(60), None if chance.random() < 0.15 else b"v" * chance.randrange(300))
            for _ in range(chance.randrange(1, 8))
        ]

    for number in range(600):
        producer = chance.choice(PRODUCERS)
        kind = chance.random()
        some, codec = rows(), chance.randrange(5)
        if kind < 0.5:
            batches.append(keyed(offset, *some, codec=codec, timestamp_ms=now_ms))
        elif kind < 0.65 or producer == PRODUCERS[-1]:
            batches.append(
                keyed(offset, *some, codec=codec, timestamp_ms=now_ms, producer_id=PRODUCERS[-1], producer_epoch=0,
                      base_sequence=sequences[PRODUCERS[-1]])
            )  # fmt: skip
            sequences[PRODUCERS[-1]] += len(some)
        elif kind < 0.85 and number < 560:
            batches.append(
                in_transaction(offset, producer, sequences[producer], *some, codec=codec, timestamp_ms=now_ms)
            )
            sequences[producer] += len(some)
            open_.add(producer)
        elif producer in open_:
            batches.append(marker(offset, producer, chance.random() < 0.5, timestamp_ms=now_ms))
            open_.discard(producer)
            some = [None]
        else:
            continue
        offset += len(some)
    for producer in open_:
        batches.append(marker(offset, producer, is_commit=False, timestamp_ms=now_ms))
        offset += 1
    for name in (b"last", b"active"):  # Kafka's map ends before a marker at the end
        batches.append(keyed(offset, (name, b"1"), timestamp_ms=now_ms))
        offset += 1
    rolled = batches[:-1]
    return [*(rolled[place : place + 90] for place in range(0, len(rolled), 90)), batches[-1:]]


def compacted_by_kafka(directory, segments):
    """The partition's directory after Kafka's cleaner has been over it."""
    from bench.nodes import Kafka

    server = Kafka(directory, {"log.cleaner.backoff.ms": "200", "log.cleaner.dedupe.buffer.size": "8000000"})
    try:
        server.start()
        admin = AdminClient({"bootstrap.servers": server.bootstrap})
        topic = NewTopic(TOPIC, 1, 1, config={"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0001"})
        admin.create_topics([topic])[TOPIC].result()
        server.stop_broker()
        partition = directory / "logs" / f"{TOPIC}-0"
        for path in partition.glob("0*"):
            path.unlink()
        write_segments(partition, *segments)
        server.start_broker()
        deadline = time.monotonic() + DEADLINE_S
        checkpoint = directory / "logs" / "cleaner-offset-checkpoint"
        while (TOPIC, 0) not in read_offset_checkpoint(checkpoint):
            assert time.monotonic() < deadline, (directory / "broker.log").read_text()[-2000:]
            time.sleep(0.1)
        server.stop_broker()
        return partition, read_offset_checkpoint(checkpoint)[TOPIC, 0]
    finally:
        server.stop()


def shape(directory):
    """Batches with records: what has to agree (the delete horizon is a matter of the clock)."""
    return [
        (
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.attributes,
            records,
        )
        for header, records in batches_of(directory)
        if records
    ]


def empty(directory):
    return {header.base_offset for header, records in batches_of(directory) if not records}


@pytest.mark.parametrize("seed", [1, 2])
def test_both_cleaners_leave_the_same(tmp_path, tools, seed):
    segments = made_segments(seed)
    theirs, their_end = compacted_by_kafka(tmp_path / "kafka", segments)
    maker = LogMaker(tmp_path / "ours")
    maker.disk = Disk()
    maker.directory = tmp_path / "ours" / f"{TOPIC}-0"
    write_segments(maker.directory, *segments)
    log = maker.open(CONFIG)
    ours = run(log, compaction_of(log, CONFIG, now_ms=int(time.time() * 1000)))
    assert ours.end_offset == their_end
    assert shape(maker.directory) == shape(theirs)
    assert empty(maker.directory) == empty(theirs)  # those that keep a producer's last sequence, and no other
    log.close()
    files = sorted(maker.directory.glob("*.log"))
    report = tools.dump(*files)
    assert "isvalid: false" not in report
    assert report.count("| offset:") == sum(len(records) for _header, records in batches_of(maker.directory))
    indexes = [str(path) for path in sorted([*maker.directory.glob("*.index"), *maker.directory.glob("*.timeindex")])]
    checked = tools.dump(*indexes, options=["--verify-index-only"])
    assert "Mismatches" not in checked, checked
    assert os.path.getsize(files[0]) > 1000
    shutil.rmtree(tmp_path / "kafka")
