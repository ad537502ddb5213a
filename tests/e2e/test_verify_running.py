"""verify beside a node that is being written to: segments roll and grow under it, and it finds no fault where there is none."""

import json
import os
import subprocess
import sys
import threading
from itertools import pairwise

from headrace.client.cluster import Cluster
from tests.support.log_damage import flip
from tests.support.waiting import DEADLINE_S, wait_until

ROUNDS = int(os.environ.get("VERIFY_ROUNDS", "4"))  # make heavy: 40
SEGMENT_BYTES = 30_000


def verify(directory):
    done = subprocess.run(
        [sys.executable, "-m", "headrace.cli.main", "verify", str(directory), "--json", "-q", "--deep"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    items = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [item for item in items if item["type"] == "fault"], items[-1]


def keep_writing(bootstrap, topics, is_over, failures, keys=2**31):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "batch.num.messages": 20, "acks": 1})
    number = 0
    while not is_over.is_set():
        for topic in topics:
            producer.produce(
                topic, b"v" * (number % 300), key=b"%d" % (number % keys),
                on_delivery=lambda error, _message: error and failures.append(error),
            )  # fmt: skip
        number += 1
        producer.poll(0.001)
    producer.flush(DEADLINE_S)


def test_no_false_alarm_beside_a_writer_and_a_true_one_for_damage(node_factory):
    node = node_factory("busy", f"log.segment.bytes={SEGMENT_BYTES}", "log.index.interval.bytes=200")
    is_over, failures = threading.Event(), []
    topics = ["one", "two"]
    writer = threading.Thread(target=keep_writing, args=(node.bootstrap, topics, is_over, failures))
    writer.start()
    try:
        with Cluster(node.bootstrap) as cluster:
            cluster.retried(lambda: cluster.refresh(topics), set())
        wait_until(lambda: len(list(node.log_dir.glob("*/*.log"))) > 4)
        seen = []
        for _ in range(ROUNDS):
            exit_code, faults, result = verify(node.log_dir)
            assert faults == []
            assert (exit_code, result["is_running"]) == (0, True)
            seen.append(result["records"])
        assert seen == sorted(seen)
        assert seen[-1] > seen[0]
        assert result["segments"] > 4
        flip(node.log_dir / "one-0" / f"{0:020d}.log", 100)
        exit_code, faults, _result = verify(node.log_dir)
        assert exit_code == 1
        assert [fault["position"] for fault in faults] == [0]
    finally:
        is_over.set()
        writer.join()
    assert failures == []
    assert node.stop() == 0
    flip(node.log_dir / "one-0" / f"{0:020d}.log", 100)
    exit_code, faults, result = verify(node.log_dir)
    assert (exit_code, faults, result["is_running"]) == (0, [], False)


def test_no_false_alarm_while_segments_are_compacted_and_deleted(node_factory):
    from confluent_kafka.admin import AdminClient, NewTopic

    node = node_factory(
        "cleaning", "log.cleaner.backoff.ms=50", "log.retention.check.interval.ms=100", "log.index.interval.bytes=200",
        "log.segment.delete.delay.ms=50",
    )  # fmt: skip
    small = {"segment.bytes": "4000"}
    topics = {
        "compacted": {**small, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
        "retained": {**small, "retention.bytes": "20000"},
    }
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    for future in admin.create_topics(
        [NewTopic(name, 1, 1, config=config) for name, config in topics.items()]
    ).values():
        future.result(DEADLINE_S)
    is_over, failures = threading.Event(), []
    writer = threading.Thread(target=keep_writing, args=(node.bootstrap, list(topics), is_over, failures, 50))
    writer.start()
    try:
        listings = []
        for _ in range(ROUNDS):
            exit_code, faults, _result = verify(node.log_dir)
            assert faults == [], json.dumps(faults)
            assert exit_code == 0
            listings.append([path.name for path in sorted(node.log_dir.glob("*/*.log"))])
        for what in ("log compacted", "segments deleted"):
            wait_until(lambda what=what: what in (node.directory / "node.log").read_text())
    finally:
        is_over.set()
        writer.join()
    assert failures == []
    assert any(before != after for before, after in pairwise(listings))
    assert node.stop() == 0
    assert verify(node.log_dir)[:2] == (0, [])
