"""The chaos campaign: faults by the thousand under load, in rounds, and the judgement of each.

Runs in: `make chaos`, a short one in the suite. `python -m tests.chaos.campaign --faults 1000 --seed 7`

Every round (`round.py`) begins with an empty directory and settings by lot, fires some hundred faults (`*_faults.py`), and is judged
(`judge.py`, `key_judge.py`). A round with an anomaly keeps its directory. A campaign whose faults did not fire, or that
acknowledged little, failed. Faults that need mounts of the node's own (a full /dev/shm, a full disk) fire where this process
is root, in every third round; elsewhere the table says that they did not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.clock_faults import CLOCK_FAULTS
from tests.chaos.forged_requests import FORGED_TO_NODE
from tests.chaos.judge import Anomaly
from tests.chaos.private_mounts import PrivateMounts
from tests.chaos.process_faults import PROCESS_FAULTS
from tests.chaos.room_faults import ROOM_FAULTS
from tests.chaos.round import Report, Round
from tests.chaos.stage import Fault
from tests.chaos.topic_faults import TOPIC_FAULTS
from tests.chaos.zookeeper_faults import ZOOKEEPER_FAULTS

FAULTS: list[Fault] = [*PROCESS_FAULTS, *TOPIC_FAULTS, *ZOOKEEPER_FAULTS, *ROOM_FAULTS, *FORGED_TO_NODE, *CLOCK_FAULTS]
ROUND_FAULTS = 400
PRIVATE_EVERY = 3  # rounds
FIRED_SHARE_MIN = 0.9
ACKNOWLEDGED_PER_FAULT_MIN = 5
TOLD_MAX = 8


@dataclass
class Verdict:
    """What a campaign saw, over all its rounds."""

    seed: int
    fired: Counter[str] = field(default_factory=Counter)
    times_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    anomalies: list[tuple[str, Anomaly]] = field(default_factory=list)  # with the seed of the round
    operations: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    seconds: float = 0.0
    not_run: list[str] = field(default_factory=list)

    def add(self, report: Report) -> None:
        self.fired += report.fired
        self.operations += report.operations
        self.notes += report.notes
        self.acknowledged += report.acknowledged
        self.seconds += report.seconds
        self.anomalies += [(report.seed, anomaly) for anomaly in report.anomalies]
        for name, times in report.times_s.items():
            self.times_s[name] += times

    def failures(self, faults_wanted: int) -> list[str]:
        """Why this campaign failed; empty where it passed."""
        fired = sum(self.fired.values())
        found = []
        if fired < faults_wanted * FIRED_SHARE_MIN:
            found.append(f"only {fired} of {faults_wanted} faults fired")
        if self.acknowledged < faults_wanted * ACKNOWLEDGED_PER_FAULT_MIN:
            found.append(f"only {self.acknowledged} records acknowledged")
        kinds = Counter(anomaly.kind for _seed, anomaly in self.anomalies)
        found += [f"{kind}: {count}" for kind, count in kinds.most_common()]
        return found

    def table(self) -> str:
        """Faults with the times to serve again, operations, anomalies."""
        rate = sum(self.fired.values()) / self.seconds if self.seconds else 0.0
        lines = [f"seed {self.seed}: {sum(self.fired.values())} faults in {self.seconds:.0f} s ({rate:.1f}/s)", ""]
        lines.append(f"{'fault':<18} {'fired':>6} {'serves again: median':>22} {'worst':>10}")
        for name, count in sorted(self.fired.items(), key=lambda pair: -pair[1]):
            times = sorted(self.times_s.get(name, ()))
            median, worst = (times[len(times) // 2], times[-1]) if times else (0.0, 0.0)
            lines.append(f"{name:<18} {count:>6} {median * 1000:>19.0f} ms {worst * 1000:>7.0f} ms")
        lines += [f"{name:<18}      - not run" for name in self.not_run]
        lines += ["", f"records acknowledged: {self.acknowledged}"]
        lines += [f"{name:<18} {count:>9}" for name, count in sorted(self.operations.items())]
        lines += ["", *(f"{name}: {count}" for name, count in sorted(self.notes.items()))]
        kinds = Counter(anomaly.kind for _seed, anomaly in self.anomalies)
        lines += ["", "anomalies: " + (", ".join(f"{kind} {n}" for kind, n in kinds.most_common()) or "none")]
        for kind in kinds:
            told = [(seed, one) for seed, one in self.anomalies if one.kind == kind]
            lines += [f"  {kind} (round {seed}): {one.text[:300]}" for seed, one in told[:TOLD_MAX]]
        return "\n".join(lines)


def choose(classes: Sequence[str]) -> list[Fault]:
    """The faults of these names (or whose names begin so); without one, all but those apart. raises ValueError"""
    chosen = [one for one in FAULTS if any(one.name.startswith(name) for name in classes)]
    chosen = chosen or [one for one in FAULTS if not classes and not one.is_apart]
    if not chosen:
        raise ValueError(f"no fault is named {', '.join(classes)}; there are {', '.join(one.name for one in FAULTS)}")
    return chosen


def has_mounts() -> bool:
    """Whether this process may give a node mounts of its own."""
    if os.geteuid():
        return False
    try:
        PrivateMounts({Path("/dev/shm"): 1 << 20}).close()
    except OSError:
        return False
    return True


def run_campaign(
    directory: Path,
    faults: int,
    seed: int,
    *,
    classes: Sequence[str] = (),
    pause_s: float = 0.15,
    round_faults: int = ROUND_FAULTS,
    private: bool | None = None,
    only_round: int | None = None,
    quiet: bool = False,
) -> Verdict:
    """Run rounds until so many faults have fired.

    private      whether nodes may have mounts of their own; None: where this process may make some
    only_round   the number of the one round to run
    """
    chosen = choose(classes)
    private = has_mounts() if private is None else private
    verdict = Verdict(seed)
    verdict.not_run = [] if private else [fault.name for fault in chosen if fault.is_private]
    is_all_private = bool(classes) and any(fault.is_private for fault in chosen)  # somebody asked for them
    numbers = [only_round] if only_round is not None else range(-(-faults // round_faults))
    began = time.monotonic()
    for number in numbers:
        count = min(round_faults, faults - number * round_faults) if only_round is None else round_faults
        mounts = private and (is_all_private or number % PRIVATE_EVERY == PRIVATE_EVERY - 1)
        place = directory / f"round-{number}"
        place.mkdir(parents=True)
        tell = (lambda _text: None) if quiet else say
        report = Round(place, f"{seed}:{number}", chosen, mounts=mounts, pause_s=pause_s, say=tell).run(count)
        verdict.add(report)
        if not report.anomalies:
            shutil.rmtree(place, ignore_errors=True)
        if not quiet:
            say_progress(verdict, report, faults, time.monotonic() - began)
    return verdict


def say(text: str) -> None:
    print(text, flush=True)


def say_progress(verdict: Verdict, report: Report, faults: int, seconds: float, more: str = "") -> None:
    """How far a campaign is, of any kind, and what the last round found; more: said of that round besides."""
    done = sum(verdict.fired.values())
    left_s = (faults - done) * seconds / max(1, done)
    found = Counter(anomaly.kind for anomaly in report.anomalies)
    say(
        f"faults {done}/{faults} acknowledged {verdict.acknowledged} {done / seconds:.1f}/s, some {left_s / 60:.0f} min left"
        f"; {more}round {report.seed}: {dict(found) or 'clean'}"
    )
    for anomaly in report.anomalies[:TOLD_MAX]:
        say(f"    {anomaly.kind}: {anomaly.text[:400]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Let faults happen to a node under load, and judge what its clients were told.",
        epilog="example: python -m tests.chaos.campaign --faults 1000 --seed 7; faults: "
        + ", ".join(fault.name for fault in FAULTS),
    )
    parser.add_argument("--faults", "--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--classes", nargs="+", default=(), metavar="FAULT", help="only these (or beginning so)")
    parser.add_argument("--pause", type=float, default=0.15, help="mean pause between faults in seconds")
    parser.add_argument("--round-faults", type=int, default=ROUND_FAULTS, help="faults between two judgements")
    parser.add_argument("--round", type=int, help="only the round of this number, as a report names it: SEED:ROUND")
    parser.add_argument("--directory", type=Path, help="where rounds live; a temporary one by default")
    parser.add_argument("--json", type=Path, help="also write the verdict here")
    arguments = parser.parse_args()
    end_in_order()
    directory = Path(tempfile.mkdtemp(prefix="headrace-chaos-", dir=arguments.directory))
    verdict = run_campaign(
        directory,
        arguments.faults,
        arguments.seed,
        classes=arguments.classes,
        pause_s=arguments.pause,
        round_faults=arguments.round_faults,
        only_round=arguments.round,
    )
    print(verdict.table())
    wanted = arguments.faults if arguments.round is None else arguments.round_faults
    failures = verdict.failures(wanted)
    keep_or_remove(directory, failures)
    if arguments.json:
        told = [(seed, *anomaly) for seed, anomaly in verdict.anomalies]
        arguments.json.write_text(
            json.dumps({"table": verdict.table(), "anomalies": told, "failures": failures}, indent=1)
        )
    return 1 if failures else 0


def end_in_order() -> None:
    """SIGTERM ends a campaign as an exception does: what it started is stopped, and leaves nothing in /dev/shm."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def kill_parser(description: str | None, kills: int) -> argparse.ArgumentParser:
    """Of a campaign that counts its kills: --kills, so many by default, and --seed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    return parser


def run_judged(prefix: str, seed: int, play: Callable[[Path], tuple[str, list[str]]]) -> int:
    """A campaign in a directory of its own, which is kept where it fails; returns the exit code.

    play   runs it in a directory: what it saw, and why it failed
    """
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    print(f"seed={seed} directory={directory}", flush=True)
    faults = ["it did not come to its end"]
    try:
        summary, faults = play(directory)
        print(summary)
    finally:
        keep_or_remove(directory, faults)
    print("anomalies: " + ("; ".join(faults) or "none"))
    return 1 if faults else 0


def keep_or_remove(directory: Path, failures: list[str]) -> None:
    """The directory of a campaign that failed is kept for a look."""
    for failure in failures:
        print(f"FAILED: {failure}")
    if failures:
        print(f"kept for a look: {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
