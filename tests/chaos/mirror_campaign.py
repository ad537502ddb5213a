"""A mirror under kills, by seed: `python -m tests.chaos.mirror_campaign --kills 200 --seed 7`.

Two nodes, each with a ZooKeeper of its own; producers write to the source all the time, in all codecs. At random moments one of these is
killed: the mirror, a process of either node, a ZooKeeper; or a second mirror of the same name is started beside a stopped one (SIGSTOP),
which goes on later: one of the two has to end by itself. At the end the mirror catches up, and each record has to be there once, in
order, with its key, headers and timestamp, at exactly the offset that the translation says. A group's offset is carried over exactly.

With --target-partitions the target has another number of them, so records go by their keys: each is there once, where its key belongs, in
order by key, and no group skips one that it has not read.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.client.records import RawRecord
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.mirror.journal import Journal
from headrace.mirror.partitioner import target_partition
from headrace.protocol.compression import Codec
from tests.conftest import RunningNode, start_node
from tests.support.mirror_process import MirrorProcess, contents, records_of

TOPIC = "mirrored"
PARTITIONS = 4
BATCH_RECORDS = 200
CLASSES = ("mirror", "mirror", "mirror", "source", "target", "zookeeper", "zombie")
SETTINGS = (
    "headrace.network.workers=1",
    "headrace.partition.workers=2",
    "offsets.topic.num.partitions=2",
    f"log.retention.check.interval.ms={24 * 3_600_000}",
)
PAUSE_S = (0.3, 1.5)
ZOMBIE_S = 2.0
ZOMBIE_WAIT_S = 10.0
WAIT_S = 60.0
WRONG_SHOWN = 20

Records = dict[int, list[RawRecord]]


class Load:
    """Writes records until it is stopped; `sent` of them are acknowledged."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self._bootstrap = bootstrap
        self._chance = random.Random(seed)
        self._stop = threading.Event()
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(WAIT_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            codec = self._chance.choice(list(Codec))
            options = {"compression": codec.name.lower(), "linger_ms": 0, "delivery_timeout_ms": int(WAIT_S * 1000)}
            try:
                with Kafka(self._bootstrap) as kafka, kafka.producer(**options) as producer:
                    for _ in range(BATCH_RECORDS):
                        number = self.sent
                        headers = (("n", b"%d" % number),)
                        key = b"key %d" % (number % 101) if number % 10 else None
                        producer.send(TOPIC, b"%d" % number, key, headers=headers)
                        self.sent += 1
            except HeadraceError:
                time.sleep(0.1)
            self._stop.wait(0.02)


class Campaign:
    """Of one seed.

    target_partitions   of a topic that the target has before; 0: the mirror creates it
    """

    def __init__(self, directory: Path, seed: int, target_partitions: int = 0) -> None:
        self._target_partitions = target_partitions
        self._directory = directory
        self._chance = random.Random(seed)
        self._seed = seed
        self.done: Counter[str] = Counter()
        self.zombies_that_ended = 0

    def run(self, kills: int) -> list[str]:
        """What is wrong, nothing where all is right."""
        nodes = [start_node(self._directory / name, *SETTINGS) for name in ("source", "target")]
        try:
            return self._run(kills, *nodes)
        finally:
            for node in nodes:
                node.stop()

    def _mirror(self, source: RunningNode, target: RunningNode, number: int = 0) -> MirrorProcess:
        return MirrorProcess(
            self._directory / f"mirror {number}",
            [source.bootstrap],
            target.bootstrap,
            mirror_name="campaign",
            mirror_topics_whitelist=TOPIC,
            mirror_partitioner="key" if 0 < self._target_partitions < PARTITIONS else "auto",
        )

    def _run(self, kills: int, source: RunningNode, target: RunningNode) -> list[str]:
        with Cluster(source.bootstrap) as cluster:
            assert Admin(cluster).create_topics([NewTopic(TOPIC, PARTITIONS)]) == {TOPIC: None}
        if self._target_partitions:
            with Cluster(target.bootstrap) as cluster:
                assert Admin(cluster).create_topics([NewTopic(TOPIC, self._target_partitions)]) == {TOPIC: None}
        mirror = self._mirror(source, target)
        try:
            with Load(source.bootstrap, self._seed) as load:
                mirror.start()
                for number in range(1, kills + 1):
                    time.sleep(self._chance.uniform(*PAUSE_S))
                    kind = self._chance.choice(CLASSES)
                    mirror = self._strike(kind, number, mirror, source, target)
                    self.done[kind] += 1
                    print(f"{number:4} {kind} sent={load.sent}", flush=True)
        finally:
            mirror.kill()
        return self._judge(mirror, source, target)

    def _strike(
        self, kind: str, number: int, mirror: MirrorProcess, source: RunningNode, target: RunningNode
    ) -> MirrorProcess:
        """Kill one; returns the mirror that runs now."""
        if kind == "mirror":
            mirror.kill()
            mirror.start()
            return mirror
        if kind == "zombie":
            mirror.signal(signal.SIGSTOP)
            following = self._mirror(source, target, number)
            following.start()
            _wait(lambda: "partition located" in following.log())
            time.sleep(self._chance.uniform(0, ZOMBIE_S))
            mirror.signal(signal.SIGCONT)
            self.zombies_that_ended += _wait(lambda: mirror.has_ended() or following.has_ended())
            if not following.is_running():  # the other one had claimed nothing before it was stopped
                following.kill()
                return mirror
            mirror.kill()
            return following
        node = source if kind == "source" else target if kind == "target" else self._chance.choice([source, target])
        pids = node.pids()
        names = ["java"] if kind == "zookeeper" else [name for name in pids if name.startswith("hr-")]
        name = self._chance.choice([name for name in names if name in pids] or sorted(pids))
        os.kill(pids[name], signal.SIGKILL)
        if not mirror.is_running():
            mirror.start()
        return mirror

    def _judge(self, mirror: MirrorProcess, source: RunningNode, target: RunningNode) -> list[str]:
        name = TopicPartition(TOPIC, 0)
        there = records_of(source.bootstrap, TOPIC)
        middle = there[0][len(there[0]) // 2].offset
        ends = {TopicPartition(TOPIC, index): rows[-1].offset + 1 for index, rows in there.items() if rows}
        with Cluster(source.bootstrap, patience_s=WAIT_S) as cluster:
            Admin(cluster).alter_group_offsets("moved", {name: middle})
            Admin(cluster).alter_group_offsets("done", ends)
        code = 1
        for _ in range(5):
            code = mirror.finish()
            if not code:
                break
        wrong = [f"the mirror ended with {code}: {mirror.log()[-2_000:]}"] if code else []
        here = records_of(target.bootstrap, TOPIC)
        with Cluster(target.bootstrap, patience_s=WAIT_S) as cluster:
            cluster.refresh(None)
            journal = Journal(cluster, lambda lane: lane.topic == TOPIC, lambda: 0, "")
            journal.read()
            carried = Admin(cluster).group_offsets("moved")
            done = Admin(cluster).group_offsets("done")
        print(
            f"records={sum(map(len, there.values()))} {dict(self.done)} pairs of which one ended by itself={self.zombies_that_ended}"
        )
        if self._target_partitions not in (0, PARTITIONS):
            return wrong + self._judge_by_key(there, here, {name: middle}, carried, done)
        for index in range(PARTITIONS):
            old, new = there[index], here[index]
            if contents(old) != contents(new):
                values = Counter(one.value for one in new)
                doubled = sum(1 for count in values.values() if count > 1)
                lost = sum(1 for one in old if one.value not in values)
                wrong.append(
                    f"partition {index}: {len(old)} records at the source, {len(new)} at the target, {lost} lost, {doubled} doubled"
                )
                continue
            (notes,) = [one for lane, one in journal.lanes.items() if lane.partition == index]
            bad = [
                one.offset
                for one, copy in zip(old, new, strict=True)
                if notes.translation.translate(one.offset) != copy.offset
            ]
            if bad:
                wrong.append(f"partition {index}: {len(bad)} offsets are translated wrongly, the first is {bad[0]}")
            if not index and carried.get(name) != notes.translation.translate(middle):
                wrong.append(
                    f"the group was carried to {carried}, offset {middle} is {notes.translation.translate(middle)}"
                )
        return wrong

    def _judge_by_key(
        self,
        there: Records,
        here: Records,
        moved: dict[TopicPartition, int],
        carried: dict[TopicPartition, int],
        done: dict[TopicPartition, int],
    ) -> list[str]:
        """moved, carried, done   offsets of a group at the source; of the same, and of one that has read all, at the target"""
        wrong = []
        count = self._target_partitions
        place = {one.value: (index, one) for index, rows in there.items() for one in rows}
        found = Counter(one.value for rows in here.values() for one in rows)
        doubled = sum(1 for number in found.values() if number > 1)
        lost = len(place.keys() - found.keys())
        if doubled or lost or len(found) != len(place):
            wrong.append(
                f"{len(place)} records at the source, {len(found)} at the target, {lost} lost, {doubled} doubled"
            )
            return wrong
        for index, rows in here.items():
            order: dict[int, int] = {}
            for one in rows:
                partition, old = place[one.value]
                if contents([old]) != contents([one]):
                    wrong.append(
                        f"offset {one.offset} of partition {index} differs from offset {old.offset} of {partition}"
                    )
                if target_partition(old.key, partition, old.offset, count) != index:
                    wrong.append(f"offset {old.offset} of partition {partition} went to {index}")
                if old.offset < order.get(partition, 0):
                    wrong.append(f"offset {old.offset} of partition {partition} changed places in {index}")
                order[partition] = old.offset
                is_read = old.offset < moved.get(TopicPartition(TOPIC, partition), 0)
                if not is_read and one.offset < carried.get(TopicPartition(TOPIC, index), 0):
                    wrong.append(f"the group would skip offset {old.offset} of partition {partition}")
            end = rows[-1].offset + 1 if rows else 0
            if done.get(TopicPartition(TOPIC, index), 0) != end:
                wrong.append(f"the group that has read all is at {done} of the target, partition {index} ends at {end}")
        return wrong[:WRONG_SHOWN]


def _wait(condition: Callable[[], bool]) -> bool:
    """Whether it came true in time."""
    deadline_s = time.monotonic() + ZOMBIE_WAIT_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target-partitions", type=int, default=0, help=f"0: as many as the source, {PARTITIONS}")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="mirror-campaign-"))
    print(f"seed={given.seed} directory={directory}", flush=True)
    wrong = Campaign(directory, given.seed, given.target_partitions).run(given.kills)
    for line in wrong:
        print(f"ANOMALY {line}")
    if not wrong:
        shutil.rmtree(directory)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
