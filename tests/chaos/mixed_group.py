"""Members of one group in processes of their own, killed one after the other, and the judgement of what they said.

Used by tests: `run_group` starts a command for each member. A member says, a line of JSON for each step, what it read
and what it was told is committed, with the monotonic time (`tests/e2e/group_member.py`, `tests/interop/members`).

A record is done when a commit past it was acknowledged. From that moment on no other member may read it, acknowledged
positions never go back, and in the end every record is done.
"""

import json
import random
import subprocess
import time
import uuid
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support import children
from tests.support.waiting import DEADLINE_S

PARTITIONS = 6
RECORDS = 1_200
KILLS = 4


class Member:
    def __init__(self, directory, name, command):
        self.name = name
        self.output = Path(directory) / f"{name}-{uuid.uuid4().hex[:6]}.jsonl"
        with open(self.output, "wb") as out, open(Path(directory) / "members.log", "ab") as log:
            self.process = children.start(command, stdout=out, stderr=log, stdin=subprocess.DEVNULL)

    def lines(self):
        text = self.output.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def kill(self):
        self.process.kill()
        self.process.wait()


def run_group(directory, bootstrap, commands, seed):
    """Members of a group, by `commands` (name -> function of topic and group) in turn; kills; returns all of them.

    raises   AssertionError, where records are left undone
    """
    chance = random.Random(seed)
    topic, group = f"mixed-{uuid.uuid4().hex[:8]}", f"mixed-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(DEADLINE_S)
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    names = list(commands)
    everyone, written = [], 0

    def start(number):
        name = names[number % len(names)]
        everyone.append(Member(directory, name, commands[name](topic, group)))
        return everyone[-1]

    try:
        members = [start(number) for number in range(3)]
        for round_ in range(KILLS + 1):
            for _ in range(RECORDS // (KILLS + 1)):
                producer.produce(topic, b"%d" % written, partition=written % PARTITIONS)
                written += 1
            assert producer.flush(DEADLINE_S) == 0
            wait_until_done(everyone, written, Path(directory))
            if round_ < KILLS:
                members.pop(chance.randrange(len(members))).kill()
                members.append(start(round_))
    finally:
        for member in everyone:
            member.kill()
    print(f"seed {seed}", {member.output.stem: len(member.lines()) for member in everyone})
    return everyone


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


def wait_until_done(members, written, directory):
    deadline = time.monotonic() + 2 * DEADLINE_S  # sessions end in it
    while sum(done_by(members).values()) < written:
        if time.monotonic() > deadline:
            said = (directory / "members.log").read_text()[-2_000:]
            raise AssertionError(f"{done_by(members)} of {written} records done; {said}")
        time.sleep(0.1)
