"""A mirror under kills, by seed: `python -m tests.chaos.mirror_campaign --kills 200 --seed 7`.

Clusters, each with a ZooKeeper of its own; records are written to the sources all the time, in all codecs. At random moments one of
these is killed: the mirror, a process of a node, a ZooKeeper, with several brokers a whole node. Or a second mirror of the same name
is started beside a stopped one (SIGSTOP), which goes on later: one of the two has to end by itself. At the end the mirror catches up.
Each record has to be there once, in order, with its key, headers and timestamp, at exactly the offset that the translation says. A
group that switches to the target gets exactly the next record (`mirror_judge.py`).

    --records 10000000       so many are written in all, spread evenly over the kills; without it the load writes small batches
    --brokers 3              at each side that is of ours; each partition has three replicas
    --sources 2              into one topic
    --processes 2            of the mirror
    --from kafka --to ...    Apache Kafka of a release; of those only the mirror is killed
    --target-partitions 6    records go by their keys: each is there once, where its key belongs, in order by key, and no group skips
                             one that it has not read (`mirror_key_judge.py`)
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.ids import TopicPartition
from tests.chaos.mirror_judge import Source, ends_of, judge, read_a_part
from tests.chaos.mirror_key_judge import judge_by_key
from tests.chaos.mirror_load import Load
from tests.chaos.mirror_sides import HEADRACE, KINDS, NODE, PROCESS, ZOOKEEPER, Side, side
from tests.support.mirror_process import MirrorProcess, records_of

TOPIC = "mirrored"
PARTITIONS = 4
SMALL_CHUNK, LARGE_CHUNK = 200, 20_000  # records of one producer
LETTERS = "abcdefgh"  # of the sources
MIRROR, ZOMBIE = "mirror", "zombie"
CHILD_SHARE = 0.5  # of the kills of a mirror that has several processes
PAUSE_S = (0.3, 1.5)
ZOMBIE_S = 2.0
ZOMBIE_WAIT_S = 20.0
LOOK_S = 0.1
WAIT_S = 60.0
FINISH_TRIES = 5
FINISH_S = 120.0
FINISH_RECORDS_PER_S = (
    2_000  # at least, on whatever machine: two sources need a journal record for each batch where they alternate
)
WRONG_SHOWN = 20
LOGS = ("mirror.log", "node.log")  # of ours
SIGNS = ("Traceback", "partition stopped")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is made of.

    records             in all; 0: as many as are written while the kills last
    brokers             of each cluster of ours
    target_partitions   of a topic that the target has before; 0: the mirror creates it
    """

    kills: int
    seed: int
    records: int = 0
    brokers: int = 1
    sources: int = 1
    processes: int = 1
    from_kind: str = HEADRACE
    to_kind: str = HEADRACE
    target_partitions: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.sources <= len(LETTERS):
            raise ValueError(f"sources: {self.sources}: expected 1 to {len(LETTERS)}")
        if self.sources > 1 and self.is_by_key:
            raise ValueError(f"sources: {self.sources}: a copy by key is judged with one source")
        if self.kills < 1:
            raise ValueError(f"kills: {self.kills}: expected at least one")

    @property
    def is_by_key(self) -> bool:
        return self.target_partitions not in (0, PARTITIONS)


class Campaign:
    """Of one plan."""

    def __init__(self, directory: Path, plan: Plan) -> None:
        self._directory = directory
        self._plan = plan
        self._chance = random.Random(plan.seed)
        self.sources = [
            side(plan.from_kind, directory / f"source-{LETTERS[index]}", plan.brokers) for index in range(plan.sources)
        ]
        self.target = side(plan.to_kind, directory / "target", plan.brokers)
        self._loads: list[Load] = []
        self.done: Counter[str] = Counter()
        self.zombies_that_ended = 0
        self.records = 0

    def run(self) -> list[str]:
        """What is wrong, nothing where all is right."""
        with contextlib.ExitStack() as stack:
            for one in (*self.sources, self.target):
                stack.callback(one.stop)
                one.start()
            return self._run()

    def _run(self) -> list[str]:
        for one in self.sources:
            _create_topic(one, PARTITIONS)
        if self._plan.target_partitions:
            _create_topic(self.target, self._plan.target_partitions)
        mirror = self._mirror()
        wrong: list[str] = []
        try:
            with self._writing():
                mirror.start()
                for number in range(1, self._plan.kills + 1):
                    if not self._wait_for_share(number):
                        wrong.append(f"kill {number}: the load stalled at {self._written} records")
                        break
                    what = self._chance.choice(self._kinds())
                    mirror = self._strike(what, number, mirror)
                    self.done[what] += 1
                    print(f"{number:4} {what} sent={self._written}", flush=True)
                wrong += [
                    f"source {load.letter}: only {load.acknowledged} records"
                    for load in self._loads
                    if not self._is_written(load)
                ]
        finally:
            mirror.kill()
        return wrong + self._judge(mirror) + self._logged()

    # The load

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        chunk = LARGE_CHUNK if self._plan.records else SMALL_CHUNK
        if self._plan.records:
            chunk = max(1, min(chunk, self._plan.records // self._plan.kills // self._plan.sources))
        with contextlib.ExitStack() as stack:
            for index, one in enumerate(self.sources):
                load = Load(
                    one.bootstrap, TOPIC, LETTERS[index], self._plan.seed + index, one.codecs, one.has_headers, chunk,
                    0 if self._plan.records else None,
                )  # fmt: skip
                self._loads.append(stack.enter_context(load))
            yield

    @property
    def _written(self) -> int:
        return sum(load.acknowledged for load in self._loads)

    def _share(self, number: int) -> int:
        """Records of each source that are written before the end of a kill."""
        return self._plan.records * number // self._plan.kills // self._plan.sources

    def _write_some(self) -> None:
        """A few records, where the load has written its share: a mirror that has nothing to copy does not notice another one."""
        for load in self._loads:
            if load.allowance is not None and load.acknowledged >= load.allowance:
                load.allowance += SMALL_CHUNK

    def _wait_for_share(self, number: int) -> bool:
        """Until the moment of a kill: while its share of the records is written. False: the load stalled."""
        if not self._plan.records:
            time.sleep(self._chance.uniform(*PAUSE_S))
            return True
        before, after = self._share(number - 1), self._share(number)
        for load in self._loads:
            load.allowance = max(after, load.allowance or 0)
        moment = before + int(self._chance.random() * (after - before))
        return all(load.wait_for(moment) for load in self._loads)

    def _is_written(self, load: Load) -> bool:
        """Whether all its records are."""
        return not self._plan.records or load.wait_for(self._share(self._plan.kills))

    # The kills

    def _kinds(self) -> Sequence[str]:
        """Half of all is done to the mirror."""
        kinds = [MIRROR, MIRROR, MIRROR, ZOMBIE]
        sides = [("source", one) for one in self.sources[:1]] + [("target", self.target)]
        for name, one in sides:
            if PROCESS in one.victims:
                kinds += [name]
            if NODE in one.victims:
                kinds += [f"{name} {NODE}"]
            if ZOOKEEPER in one.victims and ZOOKEEPER not in kinds:
                kinds.append(ZOOKEEPER)
        return kinds

    def _mirror(self, number: int = 0) -> MirrorProcess:
        return MirrorProcess(
            self._directory / f"mirror {number}",
            [one.bootstrap for one in self.sources],
            self.target.bootstrap,
            mirror_name="campaign",
            mirror_topics_whitelist=TOPIC,
            mirror_consumer_numthreads=str(self._plan.processes),
            mirror_partitioner="key" if 0 < self._plan.target_partitions < PARTITIONS else "auto",
        )

    def _strike(self, what: str, number: int, mirror: MirrorProcess) -> MirrorProcess:
        """Kill one; returns the mirror that runs now."""
        if what == MIRROR:
            if self._plan.processes > 1 and self._chance.random() < CHILD_SHARE:
                mirror.kill_a_child(self._chance)
            else:
                mirror.kill()
            mirror.start()
            return mirror
        if what == ZOMBIE:
            return self._two_mirrors(number, mirror)
        name, _space, victim = what.partition(" ")
        sources = [one for one in self.sources if one.victims]
        if name == ZOOKEEPER:
            killed, victim = self._chance.choice([one for one in (*sources, self.target) if one.victims]), ZOOKEEPER
        else:
            killed = self.target if name == "target" else self._chance.choice(sources)
        killed.kill(victim or PROCESS, self._chance)
        if not mirror.is_running():
            mirror.start()
        return mirror

    def _two_mirrors(self, number: int, mirror: MirrorProcess) -> MirrorProcess:
        mirror.signal(signal.SIGSTOP)
        following = self._mirror(number)
        following.start()
        _wait(lambda: "partition located" in following.log())
        time.sleep(self._chance.uniform(0, ZOMBIE_S))
        mirror.signal(signal.SIGCONT)
        self.zombies_that_ended += _wait(lambda: mirror.has_ended() or following.has_ended(), self._write_some)
        if not following.is_running():  # the other one had claimed nothing before it was stopped
            following.kill()
            return mirror
        mirror.kill()
        return following

    # The end

    def _judge(self, mirror: MirrorProcess) -> list[str]:
        begun_s = time.monotonic()
        sources = [
            Source(one.bootstrap, letter, ends_of(one.bootstrap, TOPIC)[1])
            for one, letter in zip(self.sources, LETTERS, strict=False)
        ]
        for source in sources:
            read_a_part(source, TOPIC)
        records = sum(sum(source.ends.values()) for source in sources)
        code = 1
        for _ in range(FINISH_TRIES):
            code = mirror.finish(FINISH_S + records / FINISH_RECORDS_PER_S)
            if not code:
                break
        if code:
            return [f"the mirror ended with {code}: {mirror.log()[-2_000:]}"]
        caught_up_s = time.monotonic() - begun_s
        print(
            f"{dict(self.done)} pairs of which one ended by itself={self.zombies_that_ended} caught up in {caught_up_s:.0f} s",
            flush=True,
        )
        if self._plan.is_by_key:
            self.records = records
            return self._judge_by_key(sources[0])
        verdict = judge(self.target.bootstrap, TOPIC, sources, self._loads)
        self.records = verdict.records
        print(
            f"records={verdict.records}, each offset translated exactly; "
            f"partitions in which a group went on at the next record={verdict.switched}"
        )
        return verdict.wrong[:WRONG_SHOWN]

    def _logged(self) -> list[str]:
        """What no kill may cause: a partition that stops, an exception that is not caught."""
        wrong = []
        for path in sorted(self._directory.glob("*/*.log")):
            if path.name in LOGS:
                lines = path.read_text(errors="replace").splitlines()
                wrong += [f"{path}: {line}" for line in lines if any(sign in line for sign in SIGNS)]
        return wrong[:WRONG_SHOWN]

    def _judge_by_key(self, source: Source) -> list[str]:
        with Cluster(self.target.bootstrap, patience_s=WAIT_S) as cluster:
            carried, done = (Admin(cluster).group_offsets(group) for group in (source.group, source.done_group))
        there, here = (records_of(bootstrap, TOPIC) for bootstrap in (source.bootstrap, self.target.bootstrap))
        print(f"records={sum(map(len, there.values()))}")
        return judge_by_key(TOPIC, there, here, source.moved, carried, done)


def _create_topic(one: Side, partitions: int) -> None:
    with Cluster(one.bootstrap, patience_s=WAIT_S) as cluster:
        assert Admin(cluster).create_topics([NewTopic(TOPIC, partitions, one.replication_factor)]) == {TOPIC: None}
        cluster.retried(lambda: cluster.leader(TopicPartition(TOPIC, 0)), {TOPIC})


def _wait(condition: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Whether it came true in time."""
    deadline_s = time.monotonic() + ZOMBIE_WAIT_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        meanwhile()
        time.sleep(LOOK_S)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--records", type=int, default=0, help="in all; 0: as many as are written while the kills last")
    parser.add_argument("--brokers", type=int, default=1, help="of each cluster of ours")
    parser.add_argument("--sources", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, help="of the mirror")
    parser.add_argument("--from", dest="from_kind", choices=KINDS, default=HEADRACE)
    parser.add_argument("--to", dest="to_kind", choices=KINDS, default=HEADRACE)
    parser.add_argument("--target-partitions", type=int, default=0, help=f"0: as many as the source, {PARTITIONS}")
    try:
        plan = Plan(**vars(parser.parse_args()))
    except ValueError as failure:
        parser.error(str(failure))
    directory = Path(tempfile.mkdtemp(prefix="mirror-campaign-"))
    print(f"{plan} directory={directory}", flush=True)
    begun_s = time.monotonic()
    wrong = Campaign(directory, plan).run()
    print(f"{time.monotonic() - begun_s:.0f} s; anomalies: {len(wrong) or 'none'}")
    for line in wrong:
        print(f"ANOMALY {line}")
    if not wrong:
        shutil.rmtree(directory)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
