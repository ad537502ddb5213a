"""Brokers change places in a running cluster: Apache Kafka 3.9 for Headrace and back, on the same log directories, under acks=all load.

`python -m tests.interop.swap_campaign [--swaps 30] [--seed N] [--ibp 2.6] [--kinds kafka]`: `--swaps` over all of IBPS, one
cluster for each; with `--kinds kafka` a Kafka broker takes a Kafka broker's place, which says what of a failure is ours.

By lot: which kinds the cluster begins with, who goes, by SIGTERM or SIGKILL, what kind is the controller meanwhile. After each
swap: the ISR of every partition is whole and each member tells so; every acknowledged record is there once, where it was
acknowledged, in its producer's order; the replicas' files are equal; no log has an ERROR.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.acked_load import JavaLoad, NativeLoad, judge, read_all
from tests.interop.broker_logs import OF_A_KILLED_CONTROLLER, OF_A_MOVED_CONTROLLER, OF_MOVED_LEADERS, severe_lines
from tests.interop.mixed_cluster import KINDS, MixedCluster
from tests.interop.replica_files import differences

IBPS = ("2.6", "2.8", "3.9")
PARTITIONS = 3
NATIVE, JAVA = "native", "java"
BEFORE_S = 2.0  # of load before the swap, and after the ISR is whole again


class Campaign:
    """One cluster, and swaps in it one after the other."""

    def __init__(self, directory, ibp, seed, kinds=KINDS):
        self.rng = random.Random(f"{seed}:{ibp}")
        self.kinds = kinds
        begin = [kinds[n % len(kinds)] for n in range(3)]
        self.rng.shuffle(begin)
        self.cluster = MixedCluster(directory, begin, ibp)
        self.loads = {NATIVE: [], JAVA: []}
        self._read = {}  # bytes of each log that were judged

    def start(self):
        self.cluster.start()
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        wanted = [NewTopic(topic, PARTITIONS, 3) for topic in (NATIVE, JAVA)]
        for future in admin.create_topics(wanted).values():
            future.result(60)
        self.cluster.wait_until_whole()
        assert not (wrong := self.wrong_lines()), wrong

    def swap(self):
        """One swap, judged. Returns (what was done, what is wrong)."""
        cluster, rng = self.cluster, self.rng
        broker_id = rng.choice(list(cluster.members))
        number = rng.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGKILL])
        controllers = rng.choice(self.kinds)
        candidates = [one.broker_id for one in cluster.members.values() if one.kind == controllers]
        if candidates:
            cluster.move_controller(candidates)
        old = cluster.members[broker_id].kind
        new = next((kind for kind in self.kinds if kind != old), old)
        done = f"{broker_id} {old}->{new} {number.name} controller={cluster.controller()} " + "".join(
            one.kind[0] for one in cluster.members.values()
        )
        begun = time.monotonic()
        loads = self._begin_loads()
        time.sleep(BEFORE_S)
        cluster.swap(broker_id, new, number)
        cluster.wait_until_whole()
        whole_s = time.monotonic() - begun - BEFORE_S
        time.sleep(BEFORE_S)
        for load in loads:
            load.stop()
            assert load.acked, f"nothing was acknowledged in {load.topic}"
        of_controllers = OF_A_KILLED_CONTROLLER if number == signal.SIGKILL else OF_A_MOVED_CONTROLLER
        wrong = self.judge({**OF_MOVED_LEADERS, **of_controllers})
        acked = "+".join(str(len(load.acked)) for load in loads)
        return f"{done} whole_s={whole_s:.1f} total_s={time.monotonic() - begun:.1f} acked={acked}", wrong

    def judge(self, allowed=None):
        """What is wrong now, with no load; `allowed` as of `severe_lines`."""
        cluster = self.cluster
        cluster.wait_until_whole()
        wrong = self.wrong_lines(allowed)
        log_dirs = {one.broker_id: one.log_dir for one in cluster.members.values()}
        for topic, loads in self.loads.items():
            wrong += judge(loads, read_all(cluster.bootstrap, topic, PARTITIONS))
            for index, replicas in cluster.assignment(topic).items():
                wrong += differences(log_dirs, topic, index, replicas)
        return wrong

    def wrong_lines(self, allowed=None):
        """Severe lines of each member's log since the last call."""
        found = []
        for member in self.cluster.members.values():
            found += [
                f"{member.broker_id}: {line}"
                for line in severe_lines(member.log_file, self._read.get(member.broker_id, 0), allowed)
            ]
            self._read[member.broker_id] = member.log_file.stat().st_size
        return found

    def close(self):
        for loads in self.loads.values():
            for load in loads:
                load.end()
        self.cluster.close()

    def _begin_loads(self):
        name = f"load{len(self.loads[NATIVE])}"
        self.loads[NATIVE].append(NativeLoad(self.cluster.bootstrap, NATIVE, PARTITIONS, name=name))
        number = len(self.loads[JAVA])
        self.loads[JAVA].append(JavaLoad(self.cluster.bootstrap, JAVA, self.cluster.directory, number=number))
        return [load.start() for load in (self.loads[NATIVE][-1], self.loads[JAVA][-1])]


def play(directory, ibp, swaps, seed, kinds=KINDS):
    """Swaps in one cluster; the first that is wrong ends it. Returns what is wrong."""
    campaign = Campaign(directory, ibp, seed, kinds)
    try:
        campaign.start()
        for number in range(swaps):
            done, wrong = campaign.swap()
            print(f"ibp={ibp} seed={seed} swap={number} {done} {'WRONG' if wrong else 'ok'}", flush=True)
            if wrong:
                return [f"ibp={ibp} seed={seed} swap={number} {done}: {one}" for one in wrong]
    finally:
        campaign.close()
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--swaps", type=int, default=30, help="over all protocol versions")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--ibp", action="append", choices=IBPS)
    parser.add_argument("--kinds", default=",".join(KINDS))
    arguments = parser.parse_args()
    ibps = arguments.ibp or IBPS
    failed = False
    for number, ibp in enumerate(ibps):
        swaps = (arguments.swaps + len(ibps) - 1 - number) // len(ibps)
        directory = Path(tempfile.mkdtemp(prefix="headrace-swap-"))
        wrong = play(directory, ibp, swaps, arguments.seed, tuple(arguments.kinds.split(",")))
        for one in wrong:
            print(one, file=sys.stderr)
        if wrong:
            failed = True
            print(f"kept: {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
