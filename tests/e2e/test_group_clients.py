"""Three clients in one group: members join, die by SIGKILL, others take over. Nothing is left out, nothing done twice.

Judged from what the members said: a record is done when a commit past it was acknowledged. From that moment on no
member may read it again, acknowledged positions never go back, and in the end every record is done.
"""

import json
import random
import subprocess
import sys
import time
import uuid
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

MEMBER = Path(__file__).parent / "group_member.py"
CLIENTS = ["confluent", "kafka-python", "aiokafka"]
PARTITIONS = 6
RECORDS = 1_200
KILLS = 4
DEADLINE_S = 90
SEED = 4


class Member:
    def __init__(self, directory, client, *arguments):
        self.client = client
        self.output = directory / f"{client}-{uuid.uuid4().hex[:6]}.jsonl"
        with open(self.output, "wb") as out, open(directory / "members.log", "ab") as log:
            self.process = subprocess.Popen([sys.executable, str(MEMBER), client, *arguments], stdout=out, stderr=log)

    def lines(self):
        text = self.output.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def kill(self):
        self.process.kill()
        self.process.wait()


def done_by(members):
    """The highest acknowledged position of each partition."""
    ends = dict.fromkeys(range(PARTITIONS), 0)
    for member in members:
        for line in member.lines():
            for partition, offset in line.get("committed", {}).items():
                ends[int(partition)] = max(ends[int(partition)], offset)
    return ends


def faults_of(members):
    """What went wrong, in the order of time."""
    found = []
    ends = dict.fromkeys(range(PARTITIONS), (0, ""))
    events = sorted(
        ((line["t"], member.output.stem, line) for member in members for line in member.lines()),
        key=lambda event: event[0],
    )
    for _t, name, line in events:
        for partition, offset in line.get("read", ()):
            end, by = ends[partition]
            if offset < end and by != name:
                found.append(f"{name} read {partition}@{offset}, {by} had committed {end}")
        for partition, offset in line.get("committed", {}).items():
            end, by = ends[int(partition)]
            if offset < end:
                found.append(f"{name} committed {partition}@{offset}, {by} had committed {end}")
            ends[int(partition)] = max((end, by), (offset, name))
    return found


def test_members_of_three_clients_share_one_group_and_die(node, tmp_path):
    chance = random.Random(SEED)
    topic, group = f"mixed-{uuid.uuid4().hex[:8]}", f"mixed-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(15)
    producer = Producer({"bootstrap.servers": node.bootstrap, "enable.idempotence": True})
    members = [Member(tmp_path, client, node.bootstrap, topic, group) for client in CLIENTS]
    everyone = list(members)
    written = 0
    try:
        for number in range(KILLS):
            for _ in range(RECORDS // (KILLS + 1)):
                producer.produce(topic, b"%d" % written, partition=written % PARTITIONS)
                written += 1
            assert producer.flush(10) == 0
            wait_until_done(everyone, written, tmp_path)
            victim = members.pop(chance.randrange(len(members)))
            victim.kill()
            members.append(Member(tmp_path, CLIENTS[number % 3], node.bootstrap, topic, group))
            everyone.append(members[-1])
        while written < RECORDS:
            producer.produce(topic, b"%d" % written, partition=written % PARTITIONS)
            written += 1
        assert producer.flush(10) == 0
        wait_until_done(everyone, written, tmp_path)
    finally:
        for member in everyone:
            member.kill()
    print(f"seed {SEED}", {member.output.stem: len(member.lines()) for member in everyone})
    assert not faults_of(everyone)
    workers = {member.client for member in everyone if any("committed" in line for line in member.lines())}
    assert workers == set(CLIENTS), "each client took part"


def wait_until_done(members, written, directory):
    deadline = time.monotonic() + DEADLINE_S
    while sum(done_by(members).values()) < written:
        if time.monotonic() > deadline:
            said = (directory / "members.log").read_text()[-2_000:]
            raise AssertionError(f"{done_by(members)} of {written} records done; {said}")
        time.sleep(0.1)


def test_the_judge_sees_a_record_done_twice_and_a_position_that_went_back(tmp_path):
    class Told:
        def __init__(self, name, *lines):
            self.output = Path(name)
            self._lines = lines

        def lines(self):
            return self._lines

    first = Told("a", {"t": 1, "read": [[0, 0], [0, 1]]}, {"t": 2, "committed": {"0": 2}})
    second = Told("b", {"t": 3, "read": [[0, 1]]}, {"t": 4, "committed": {"0": 1}})
    assert len(faults_of([first, second])) == 2
