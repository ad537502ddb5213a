"""The cluster campaign: three nodes under load, faults by the thousand, two or more at a time, in rounds, and the judgement of each.

Runs in: `make chaos`. `python -m tests.chaos.cluster_campaign --faults 1000 --seed 7`

    --nodes kafka   the same against three brokers of Apache Kafka 3.9 (needs mvn); mixed: one or two of them
    --unsafe        settings under which records may be lost, and careless producers: it passes if that is found
    --classes lose-power kill pause ...    also nodes that lose what they did not sync, which nobody else survives
    --power-losses 200     machines that lose power in turn, instead of --faults: the last replica in sync too; each acknowledged record
                    that is gone has to be reported by a node. With --safe (headrace.flush.before.ack) none may be gone
    --no-network    without networks and disks of our own, which need root and nft; without them the table says which faults did not run

Faults last a while, so that two or more are on at a time (`cluster_faults.py`); now and then all of them end, and the time until
every ISR is whole is measured (`cluster_round.py`). A campaign whose faults did not fire, or that acknowledged little, failed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.campaign import TOLD_MAX, end_in_order, keep_or_remove, say, say_progress
from tests.chaos.cluster_faults import CLUSTER_FAULTS
from tests.chaos.cluster_nodes import ClusterNode, KafkaNode
from tests.chaos.cluster_round import IBP, WHOLE_S, ClusterReport, ClusterRound
from tests.chaos.cluster_stage import ClusterFault
from tests.chaos.deposed_leaders import DEPOSED_FAULTS
from tests.chaos.disk_faults import DISK_FAULTS
from tests.chaos.forged_requests import FORGED_TO_CLUSTER
from tests.chaos.judge import Anomaly
from tests.chaos.network_rooms import Networks, NoNetworks
from tests.chaos.node_lives import LIFE_FAULTS
from tests.chaos.power_faults import PowerInTurn
from tests.chaos.restored_zookeeper import RESTORE_FAULTS
from tests.chaos.slow_openings import SLOW_FAULTS
from tests.chaos.swapped_disks import SWAP_FAULTS

ROUND_FAULTS = 100
DISK_EVERY = 3  # rounds: in the others the nodes' files are on a real disk
FIRED_SHARE_MIN = 0.9
ACKNOWLEDGED_PER_FAULT_MIN = 20
KINDS: dict[str, list[tuple[type[ClusterNode], ...]]] = {  # of the nodes, round after round
    "headrace": [(ClusterNode,) * 3],
    "kafka": [(KafkaNode,) * 3],
    "mixed": [(ClusterNode, ClusterNode, KafkaNode), (ClusterNode, KafkaNode, KafkaNode)],
}
FAULTS: list[ClusterFault] = [
    *CLUSTER_FAULTS,
    *DISK_FAULTS,
    *LIFE_FAULTS,
    *SWAP_FAULTS,
    *RESTORE_FAULTS,
    *DEPOSED_FAULTS,
    *SLOW_FAULTS,
    *FORGED_TO_CLUSTER,
    PowerInTurn(),
]
IBPS = ("3.9", "2.6", "3.9", "2.8")  # of our nodes, round after round, where nobody names one
LOSSES = ("lost-write", "inconsistent-offsets")


@dataclass
class ClusterVerdict:
    """What a campaign saw, over all its rounds."""

    seed: int
    fired: Counter[str] = field(default_factory=Counter)
    whole_s: list[float] = field(default_factory=list)
    served_s: list[float] = field(default_factory=list)
    told_s: list[float] = field(default_factory=list)
    visited: Counter[tuple[str, str]] = field(default_factory=Counter)
    anomalies: list[tuple[str, Anomaly]] = field(default_factory=list)  # with the seed of the round
    operations: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    at_once: int = 0
    seconds: float = 0.0
    not_run: list[str] = field(default_factory=list)
    why_not: str = ""
    is_apart: bool = False  # its faults come one after the other

    def add(self, report: ClusterReport) -> None:
        self.fired += report.fired
        self.operations += report.operations
        self.notes += report.notes
        self.whole_s += report.whole_s
        self.served_s += report.served_s
        self.told_s += report.told_s
        self.acknowledged += report.acknowledged
        self.at_once = max(self.at_once, report.at_once)
        self.seconds += report.seconds
        self.anomalies += [(report.seed, anomaly) for anomaly in report.anomalies]

    @property
    def kinds(self) -> Counter[str]:
        return Counter(anomaly.kind for _seed, anomaly in self.anomalies)

    def failures(self, faults_wanted: int, is_unsafe: bool = False) -> list[str]:
        """Why this campaign failed; empty where it passed."""
        fired = sum(self.fired.values())
        found = []
        if fired < faults_wanted * FIRED_SHARE_MIN:
            found.append(f"only {fired} of {faults_wanted} faults fired")
        if self.acknowledged < faults_wanted * ACKNOWLEDGED_PER_FAULT_MIN:
            found.append(f"only {self.acknowledged} records acknowledged")
        if fired > 1 and self.at_once < 2 and not self.is_apart:
            found.append("never two faults at a time")
        if not is_unsafe:
            return found + [f"{kind}: {count}" for kind, count in self.kinds.most_common()]
        if not any(self.kinds[kind] for kind in LOSSES):
            found.append("no loss was found where records may be lost")
        return found

    def table(self) -> str:
        """Faults, times, operations, anomalies."""
        rate = sum(self.fired.values()) / self.seconds if self.seconds else 0.0
        lines = [f"seed {self.seed}: {sum(self.fired.values())} faults in {self.seconds:.0f} s ({rate:.2f}/s)"]
        lines += [f"up to {self.at_once} at a time", "", f"{'fault':<26} {'fired':>6}"]
        lines += [f"{name:<26} {count:>6}" for name, count in sorted(self.fired.items(), key=lambda pair: -pair[1])]
        lines += [f"{name:<26}      - not run" for name in self.not_run]
        lines += [f"not run since {self.why_not}"] if self.not_run else []
        lines += ["", *(f"{what:<30} {whom:<30} {count:>6}" for (what, whom), count in sorted(self.visited.items()))]
        lines += ["", f"ISRs whole again after all faults: {_spread(self.whole_s)}"]
        lines += [f"every node's Metadata says so: {_spread(self.told_s)}"]
        lines += [f"every partition acknowledges again: {_spread(self.served_s)}"]
        lines += ["", f"records acknowledged: {self.acknowledged}"]
        lines += [f"{name:<26} {count:>9}" for name, count in sorted(self.operations.items())]
        lines += ["", *(f"{name}: {count}" for name, count in sorted(self.notes.items()))]
        lines += ["", "anomalies: " + (", ".join(f"{kind} {n}" for kind, n in self.kinds.most_common()) or "none")]
        for kind in self.kinds:
            told = [(seed, one) for seed, one in self.anomalies if one.kind == kind]
            lines += [f"  {kind} (round {seed}): {one.text[:400]}" for seed, one in told[:TOLD_MAX]]
        return "\n".join(lines)


def _spread(times_s: Sequence[float]) -> str:
    if not times_s:
        return "never measured"
    ordered = sorted(times_s)
    return f"median {ordered[len(ordered) // 2]:.1f} s, worst {ordered[-1]:.1f} s, of {len(ordered)}"


def choose(classes: Sequence[str]) -> list[ClusterFault]:
    """The faults whose names begin with one of these; without one, all but those that lose pages. raises ValueError"""
    chosen = [one for one in FAULTS if any(one.name.startswith(name) for name in classes)]
    chosen = chosen or [one for one in FAULTS if not classes and not (one.loses_pages or one.is_apart)]
    if not chosen:
        raise ValueError(f"no fault is named {', '.join(classes)}; there are {', '.join(one.name for one in FAULTS)}")
    return chosen


def why_no_networks() -> str:
    """Why this process can't have networks of its own; empty where it can."""
    try:
        Networks(1).close()
    except NoNetworks as failure:
        return str(failure)
    return ""


def run_cluster_campaign(
    directory: Path,
    faults: int,
    seed: int,
    *,
    nodes: str = "headrace",
    settings: Mapping[str, str] | None = None,
    classes: Sequence[str] = (),
    has_networks: bool | None = None,
    is_unsafe: bool = False,
    may_lose: bool = False,
    whole_max_s: float = WHOLE_S,
    round_faults: int = ROUND_FAULTS,
    only_round: int | None = None,
    quiet: bool = False,
) -> ClusterVerdict:
    """Run rounds until so many faults have fired.

    nodes          one of KINDS
    has_networks   None: where this process may make some
    may_lose       acknowledged records, where a node reports it
    only_round     the number of the one round to run
    """
    chosen = choose(classes)
    verdict = ClusterVerdict(seed, is_apart=all(one.is_apart for one in chosen))
    if has_networks is None:
        verdict.why_not = why_no_networks()
        has_networks = not verdict.why_not
    verdict.why_not = verdict.why_not or "nobody wanted networks of our own"
    verdict.not_run = [] if has_networks else [one.name for one in chosen if one.needs_network or one.needs_disk]
    numbers = [only_round] if only_round is not None else range(-(-faults // round_faults))
    began = time.monotonic()
    for number in numbers:
        count = min(round_faults, faults - number * round_faults) if only_round is None else round_faults
        place = directory / f"round-{number}"
        place.mkdir(parents=True)
        report = ClusterRound(
            place,
            f"{seed}:{number}",
            chosen,
            node_types=KINDS[nodes][number % len(KINDS[nodes])],
            settings=_settings(settings or {}, nodes, number, is_unsafe),
            has_networks=has_networks,
            has_disks=has_networks and number % DISK_EVERY == 0,
            is_unsafe=is_unsafe,
            may_lose=may_lose,
            whole_max_s=whole_max_s,
            visited=verdict.visited,
            say=(lambda _text: None) if quiet else say,
        ).run(count)
        verdict.add(report)
        if not report.anomalies:
            shutil.rmtree(place, ignore_errors=True)
        if not quiet:
            more = f"ISRs whole: {_spread(report.whole_s)}; "
            say_progress(verdict, report, faults, time.monotonic() - began, more)
    return verdict


def _settings(given: Mapping[str, str], nodes: str, number: int, is_unsafe: bool) -> dict[str, str]:
    """Of a round: those given, and the version that brokers speak with each other."""
    turns = nodes == "headrace" and not is_unsafe
    return {**({IBP: IBPS[number % len(IBPS)]} if turns else {}), **given}


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Let faults happen to a cluster of three under load, and judge what its clients were told.",
        epilog="example: python -m tests.chaos.cluster_campaign --faults 1000 --seed 7; faults: "
        + ", ".join(fault.name for fault in FAULTS),
    )
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--classes", nargs="+", default=(), metavar="FAULT", help="only these (or beginning so)")
    parser.add_argument("--nodes", choices=KINDS, default="headrace", help="kafka: brokers of Apache Kafka 3.9")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of all nodes")
    parser.add_argument("--unsafe", action="store_true", help="settings that may lose records: passes if it is found")
    parser.add_argument(
        "--power-losses", type=int, metavar="N", help="so many machines lose power in turn, nothing else"
    )
    parser.add_argument("--safe", action="store_true", help="what is acknowledged is synced: nothing may be lost")
    parser.add_argument("--no-network", action="store_true", help="without networks of our own")
    parser.add_argument("--whole", type=float, default=WHOLE_S, help="seconds that ISRs may take to be whole again")
    parser.add_argument("--round-faults", type=int, default=ROUND_FAULTS, help="faults between two judgements")
    parser.add_argument("--round", type=int, help="only the round of this number, as a report names it: SEED:ROUND")
    parser.add_argument("--directory", type=Path, help="where rounds live; a temporary one by default")
    parser.add_argument("--json", type=Path, help="also write the verdict here")
    arguments = parser.parse_args()
    end_in_order()
    settings = dict(one.split("=", 1) for one in arguments.set)
    if arguments.power_losses is not None:
        arguments.faults, arguments.classes = arguments.power_losses, [PowerInTurn.name]
    if arguments.safe:
        settings["headrace.flush.before.ack"] = "true"
    directory = Path(tempfile.mkdtemp(prefix="headrace-chaos-", dir=arguments.directory))
    verdict = run_cluster_campaign(
        directory,
        arguments.faults,
        arguments.seed,
        nodes=arguments.nodes,
        settings=settings,
        classes=arguments.classes,
        has_networks=False if arguments.no_network else None,
        is_unsafe=arguments.unsafe,
        may_lose=arguments.power_losses is not None and not arguments.safe,
        whole_max_s=arguments.whole,
        round_faults=arguments.round_faults,
        only_round=arguments.round,
    )
    say(verdict.table())
    wanted = arguments.faults if arguments.round is None else arguments.round_faults
    failures = verdict.failures(wanted, arguments.unsafe)
    keep_or_remove(directory, failures)
    if arguments.json:
        told = [(seed, *anomaly) for seed, anomaly in verdict.anomalies]
        arguments.json.write_text(
            json.dumps({"table": verdict.table(), "anomalies": told, "failures": failures}, indent=1)
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
