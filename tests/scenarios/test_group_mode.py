"""Kafka's `group_mode_transactions_test` without its transactions: three members of a group copy a topic, while brokers or they bounce.

Without transactions a copy may be there twice where a member went between its records' acknowledgement and its commit; none may be
missing, and the first copies are in order. Members that stop cleanly commit before they leave: there nothing is copied twice.
"""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.interop.acked_load import read_all, split
from tests.scenarios.topics import create
from tests.support import children

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE, TARGET, GROUP = "input", "output", "copiers"
PARTITIONS, COPIERS = 9, 3
SEEDED = 27_000
ROUNDS = 3
SIGNALS = {"clean": signal.SIGTERM, "hard": signal.SIGKILL}


class Copier:
    """A member's process, and how many records it has copied since its start."""

    def __init__(self, cluster):
        command = [sys.executable, "-m", "tests.scenarios.copier", cluster.bootstrap, SOURCE, TARGET, GROUP]
        with open(cluster.directory / "copiers.log", "ab") as log:
            self._process = children.start(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
        self.copied = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            self.copied = int(line)

    def end(self, number=signal.SIGTERM):
        self._process.send_signal(number)
        code = self._process.wait(60)
        self._thread.join(10)
        self._process.stdout.close()
        return code


@pytest.mark.parametrize("how", SIGNALS)
@pytest.mark.parametrize("who", ["brokers", "copiers"])
def test_a_group_copies_everything(make_cluster, how, who):
    cluster = make_cluster()
    for topic in (SOURCE, TARGET):
        create(cluster, topic, PARTITIONS, 3, {"min.insync.replicas": "2"})
    seed(cluster)
    copiers = [Copier(cluster) for _ in range(COPIERS)]
    try:
        cluster.wait_until(lambda: sum(one.copied for one in copiers) > 0, "nothing is copied")
        if who == "brokers":
            for broker_id in cluster.members:
                cluster.stop_one(broker_id, SIGNALS[how])
                cluster.start_one(broker_id)
        else:
            for _ in range(ROUNDS):
                for number in range(COPIERS):
                    code = copiers[number].end(SIGNALS[how])
                    assert how == "hard" or code == 0
                    copiers[number] = Copier(cluster)
                cluster.wait_until(lambda: any(one.copied for one in copiers) or is_copied(cluster), "nobody copies")
        cluster.wait_until(lambda: is_copied(cluster), "not everything is copied")
        for copier in copiers:
            assert copier.end() == 0
        copiers = []
    finally:
        for copier in copiers:
            copier.end(signal.SIGKILL)
    judge_copy(cluster, may_repeat=(how, who) != ("clean", "copiers"))


def seed(cluster):
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "acks": "all", "enable.idempotence": True, "log_level": 2}
    )
    failures = []
    for number in range(SEEDED):
        producer.produce(
            SOURCE,
            b"seed-%d" % (number // PARTITIONS),
            partition=number % PARTITIONS,
            on_delivery=lambda error, _message: error and failures.append(error),
        )
        producer.poll(0)
    assert producer.flush(60) == 0
    assert not failures, failures[0]


def is_copied(cluster):
    found = read_all(cluster.bootstrap, TARGET, PARTITIONS)
    return all(len({value for _, value in found[index]}) == SEEDED // PARTITIONS for index in range(PARTITIONS))


def judge_copy(cluster, may_repeat):
    for index, records in read_all(cluster.bootstrap, TARGET, PARTITIONS).items():
        numbers = [split(value)[1] for _offset, value in records]
        first_copies = list(dict.fromkeys(numbers))
        assert first_copies == list(range(SEEDED // PARTITIONS)), f"partition {index} is out of order, or lacks some"
        print(f"partition={index} again={len(numbers) - len(first_copies)}")
        assert may_repeat or len(numbers) == len(first_copies), f"copied twice in {index}"
