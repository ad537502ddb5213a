"""The campaign of moves: replicas of one node move between its log directories, and machine, disk and clients do what they do.

Runs in: `make chaos`. `python -m tests.chaos.move_campaign --moves 20 --seed 7`

    --turns move-power-amid ...   only these, or beginning so (`moving_logs.py`)

A round is a fresh node with two log directories; each turn is one move, judged at once: a fresh client reads every partition against
the ledger (`ledger.py`). Needs gcc (`shim.py`). A round with an anomaly keeps its directory.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headrace.ids import TopicPartition
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.shm.region import sweep
from tests.chaos import payload
from tests.chaos.campaign import end_in_order, keep_or_remove, say
from tests.chaos.final_look import left_in_shm, read_all, verify_logs
from tests.chaos.judge import Anomaly
from tests.chaos.moving_logs import FLUSHED, MOVED, PARTITIONS, PROBED, SMALL, SMALLS, TRIMMED, TURNS, MoveStage, Turn
from tests.chaos.raw_client import NoAnswer, NotSent, raw_client, until
from tests.chaos.running_node import Node, NotReady
from tests.chaos.shim import Shim, why_no_shim
from tests.support.waiting import DEADLINE_S

ROUND_MOVES = 8
LOG_DIRS = ("disk-1", "disk-2")
READ_S = 60.0
TRIES_MAX = 20
LARGE_BATCHES = 24  # of records of 20,000 bytes
SETTINGS = {
    "headrace.network.workers": "1",
    "headrace.partition.workers": "2",
    "log.segment.bytes": "1073741824",
    "log.segment.delete.delay.ms": "60000",  # names that were moved away are there for so long
    "log.retention.check.interval.ms": "200",
    "headrace.worker.hang.timeout.ms": "120000",
    "zookeeper.session.timeout.ms": "6000",
}
TOPICS = {
    MOVED: (PARTITIONS, {}),
    FLUSHED: (PARTITIONS, {"headrace.flush.before.ack": "true"}),
    TRIMMED: (PARTITIONS, {"segment.bytes": "1048576"}),
    SMALL: (SMALLS, {}),
    PROBED: (PARTITIONS, {}),
}


@dataclass
class MoveVerdict:
    """What a campaign saw."""

    seed: int
    played: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    anomalies: list[tuple[str, Anomaly]] = field(default_factory=list)  # with the seed of the round
    acknowledged: int = 0
    seconds: float = 0.0

    def failures(self, wanted: int) -> list[str]:
        """Why it failed; empty where it passed."""
        done = sum(self.played.values())
        found = [f"only {done} of {wanted} moves"] if done < wanted else []
        kinds = Counter(anomaly.kind for _seed, anomaly in self.anomalies)
        return found + [f"{kind}: {count}" for kind, count in kinds.most_common()]

    def table(self) -> str:
        """Turns, notes, anomalies."""
        lines = [f"seed {self.seed}: {sum(self.played.values())} moves in {self.seconds:.0f} s", ""]
        lines += [f"{name:<26} {count:>6}" for name, count in sorted(self.played.items())]
        lines += ["", f"records acknowledged: {self.acknowledged}"]
        lines += [f"{name}: {count}" for name, count in sorted(self.notes.items())]
        lines += [f"anomalies: {len(self.anomalies) or 'none'}"]
        lines += [f"  {one.kind} (round {seed}): {one.text[:400]}" for seed, one in self.anomalies]
        return "\n".join(lines)


def choose(names: Sequence[str]) -> list[Turn]:
    """The turns whose names begin with one of these; all, where none is named. raises ValueError"""
    chosen = [one for one in TURNS if not names or any(one.name.startswith(name) for name in names)]
    if not chosen:
        raise ValueError(f"no turn is named {', '.join(names)}; there are {', '.join(one.name for one in TURNS)}")
    return chosen


def run_move_campaign(
    directory: Path, moves: int, seed: int, turns: Sequence[str] = (), only_round: int | None = None
) -> MoveVerdict:
    """Rounds of ROUND_MOVES moves until so many were played, or one could not."""
    verdict, chosen = MoveVerdict(seed), choose(turns)
    began = time.monotonic()
    numbers = [only_round] if only_round is not None else range(-(-moves // ROUND_MOVES))
    for number in numbers:
        count = min(ROUND_MOVES, moves - number * ROUND_MOVES) if only_round is None else ROUND_MOVES
        _run_round(directory / f"round-{number}", f"{seed}:{number}", chosen, count, verdict)
        verdict.seconds = time.monotonic() - began
    return verdict


def _run_round(directory: Path, seed: str, turns: Sequence[Turn], count: int, verdict: MoveVerdict) -> None:
    chance = random.Random(seed)
    deck = chance.sample(turns, len(turns))
    try:
        with _started(directory) as stage:
            try:
                for _move in range(count):
                    turn = deck.pop() if deck else chance.choice(turns)
                    _play(stage, turn, chance, verdict)
                    if stage.anomalies:
                        break
                _end(stage)
            finally:
                verdict.anomalies += [(seed, one) for one in stage.anomalies]
                verdict.notes += stage.notes
                verdict.acknowledged += len(stage.ledger)
    except (NotReady, NotSent, NoAnswer, TimeoutError, OSError) as failure:
        verdict.anomalies.append((seed, Anomaly("campaign", f"{type(failure).__name__}: {str(failure)[-600:]}")))


@contextmanager
def _started(directory: Path) -> Iterator[MoveStage]:
    log_dirs = [directory / name for name in LOG_DIRS]
    for log_dir in log_dirs:
        log_dir.mkdir(parents=True)
    with ExitStack() as stack:
        zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
        zookeeper.start()
        stack.callback(zookeeper.stop)
        node = Node(directory, zookeeper.connect, settings={**SETTINGS, "log.dirs": ",".join(map(str, log_dirs))})
        node.shim = Shim(directory, directory)
        stack.callback(_end_node, node)
        node.start()
        raw = stack.enter_context(raw_client(lambda: node.port, timeout_s=30.0))
        for topic, (partitions, configs) in TOPICS.items():
            until(lambda t=topic, p=partitions, c=configs: raw.create(t, p, c) in (0, 36) or None, DEADLINE_S)  # type: ignore[misc]
        stage = MoveStage(node, node.shim, raw)
        for topic, (partitions, _configs) in TOPICS.items():
            for index in range(partitions):
                place = TopicPartition(topic, index)
                until(lambda p=place: stage.write_one(p) or None, DEADLINE_S)  # type: ignore[misc]
        yield stage


def _end_node(node: Node) -> None:
    if node.process is not None and node.process.poll() is None:
        node.stop()
    sweep(node.region_prefix)


def _play(stage: MoveStage, turn: Turn, chance: random.Random, verdict: MoveVerdict) -> None:
    """One that could happen; a topic's logs are large enough before."""
    place = TopicPartition(turn.topic, chance.randrange(PARTITIONS))
    if turn.topic != FLUSHED:
        stage.write(place, LARGE_BATCHES, is_large=True)
    began = time.monotonic()
    if turn.play(stage, place, chance):
        verdict.played[turn.name] += 1
    else:
        stage.notes[f"{turn.name} could not happen"] += 1
    stage.node.log.look()
    _judge(stage)
    say(f"  {turn.name} {place}: {time.monotonic() - began:.1f} s; {[one.kind for one in stage.anomalies] or 'clean'}")


def _judge(stage: MoveStage) -> None:
    """A fresh client reads everything."""
    for place in stage.ledger.places:
        try:
            found = until(lambda p=place: read_all(stage.raw, p.topic, p.partition), READ_S)  # type: ignore[misc]
        except TimeoutError as failure:
            stage.anomalies.append(Anomaly("not-served", f"{place} can't be read: {failure}"))
            continue
        stage.anomalies += stage.ledger.judge(place, {one.offset: payload.decode(one.value) for one in found})


def _end(stage: MoveStage) -> None:
    node = stage.node
    stage.anomalies += [Anomaly("died", death) for death in node.log.deaths]
    stage.anomalies += [Anomaly("traceback", text) for text in dict.fromkeys(node.log.tracebacks)]
    if code := node.stop():
        stage.anomalies.append(Anomaly("exit-code", f"the last SIGTERM ended with {code}"))
    stage.anomalies += verify_logs(node)
    if left := left_in_shm(node):
        stage.anomalies.append(Anomaly("left-in-shm", f"{left[:3]} ({len(left)} in all)"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Move replicas between the log directories of a node under faults, and judge what is left.",
        epilog="example: python -m tests.chaos.move_campaign --moves 20 --seed 7; turns: "
        + ", ".join(one.name for one in TURNS),
    )
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--turns", nargs="+", default=(), metavar="TURN", help="only these (or beginning so)")
    parser.add_argument("--round", type=int, help="only the round of this number, as a report names it: SEED:ROUND")
    parser.add_argument("--directory", type=Path, help="where rounds live; a temporary one by default")
    arguments = parser.parse_args()
    end_in_order()
    if reason := why_no_shim():
        say(f"moves not run: {reason}")
        return 0
    directory = Path(tempfile.mkdtemp(prefix="headrace-moves-", dir=arguments.directory))
    verdict = run_move_campaign(directory, arguments.moves, arguments.seed, arguments.turns, arguments.round)
    say(verdict.table())
    failures = verdict.failures(arguments.moves if arguments.round is None else ROUND_MOVES)
    keep_or_remove(directory, failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
