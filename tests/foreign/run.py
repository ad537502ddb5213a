"""`make foreign`: other people's suites against one broker, as a table; and what differs from the other broker's table.

    python -m tests.foreign.run                      against a node of this checkout
    python -m tests.foreign.run --peer testing       against nodes that the suites start by `headrace.testing`, as a user's tests do
    python -m tests.foreign.run --peer kafka         against Apache Kafka 3.9
    python -m tests.foreign.run --brokers 3          against three of them, topics with three replicas
    python -m tests.foreign.run kgo trogdor          these suites alone
    python -m tests.foreign.run --compare            the two tables that were kept, and their differences

Each suite gets a broker of its own, with ZooKeeper, on free ports, or a cluster of them. Results are kept in
`build/foreign/results/<peer>`, those of three brokers in `<peer>-3`. Ends
with 1 where a suite could not be run, and where a test that Apache Kafka passes fails here without a reason in
`differences.toml`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.nodes import Headrace, Kafka, Server
from tests.foreign.aiokafka_suite import Aiokafka
from tests.foreign.brokers import Brokers
from tests.foreign.kafka_python import KafkaPython
from tests.foreign.kafka_tools import KafkaTools
from tests.foreign.kazoo_suite import Kazoo
from tests.foreign.kgo import Kgo
from tests.foreign.librdkafka import Librdkafka
from tests.foreign.quixstreams_suite import Quixstreams
from tests.foreign.suite import BUILD, FAILED, PASSED, SKIPPED, TESTING, Broker, NotBrought, Outcome, Suite, shortened
from tests.foreign.trogdor import Trogdor

SUITES: tuple[Suite, ...] = (
    Kgo(),
    Librdkafka(),
    KafkaPython(),
    Aiokafka(),
    Quixstreams(),
    Kazoo(),
    KafkaTools(),
    Trogdor(),
)
NAMES = [suite.name for suite in SUITES]
PEERS = {"headrace": Headrace, "kafka": Kafka}
OURS = ("headrace", TESTING)
SETTINGS = {"num.partitions": "4", "auto.create.topics.enable": "true", "group.initial.rebalance.delay.ms": "0"}
DIFFERENCES = Path(__file__).with_name("differences.toml")

_console = Console(width=160, soft_wrap=True)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was started is stopped
    parser = _parser()
    arguments = parser.parse_args()
    if unknown := set(arguments.suites) - set(NAMES):
        parser.error(f"no such suite: {', '.join(sorted(unknown))} (there are {', '.join(NAMES)})")
    chosen = [suite for suite in SUITES if not arguments.suites or suite.name in arguments.suites]
    unable = {suite.name for suite in chosen if arguments.peer not in suite.peers}
    if unable.intersection(arguments.suites) and not arguments.compare:
        parser.error(f"--peer {arguments.peer}: not for {', '.join(sorted(unable))}")
    chosen = [suite for suite in chosen if suite.name not in unable or arguments.compare]
    is_whole = True
    if not arguments.compare:
        for suite in chosen:
            is_whole &= run(suite, arguments.peer, arguments.brokers)
        show(_place(arguments.peer, arguments.brokers), chosen)
    return 0 if explain(chosen, arguments.brokers) and is_whole else 1


def _place(peer: str, brokers: int) -> str:
    """Where results are kept, and what a table is called."""
    return peer if brokers == 1 else f"{peer}-{brokers}"


def run(suite: Suite, peer: str, brokers: int) -> bool:
    """Bring a suite, run it against brokers of its own, keep what it said; False where that did not work."""
    folder = BUILD / "results" / _place(peer, brokers)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{suite.name}.outcomes.json"
    kept.unlink(missing_ok=True)
    output = folder / suite.name / "output.txt"
    output.parent.mkdir(exist_ok=True)
    output.unlink(missing_ok=True)
    _console.print(f"{suite.name}: fetching and building")
    try:
        suite.bring()
    except (NotBrought, OSError, SystemExit) as failure:
        _console.print(f"{suite.name}: not brought: {failure}", style="red", markup=False)
        return False
    begun = time.monotonic()
    with running(suite, peer, brokers, output.parent) as broker:
        where = broker.bootstrap or "nodes that it starts"
        _console.print(f"{suite.name}: running against {peer} at {where}, output in {output}")
        outcomes = suite.run(broker, output)
    duration_s = time.monotonic() - begun
    kept.write_text(json.dumps({"duration_s": round(duration_s), "outcomes": outcomes}, indent=1))
    _console.print(f"{suite.name}: {_counts(outcomes)} in {duration_s:.0f} s")
    return True


@contextmanager
def running(suite: Suite, peer: str, brokers: int, kept: Path) -> Iterator[Broker]:
    """What a suite is run against. The brokers' logs go to `kept` when they end."""
    settings = {**SETTINGS, **suite.settings}
    if peer == TESTING or not suite.clusters:
        yield Broker(peer, count=brokers, settings=settings)
        return
    with tempfile.TemporaryDirectory(prefix="headrace-foreign-") as directory, ExitStack() as servers:
        servers.callback(_keep_logs, Path(directory), kept)
        started = []
        for number in range(suite.clusters):
            folder = Path(directory, f"cluster-{number}")
            server: Server | Brokers = (
                PEERS[peer](folder, settings) if brokers == 1 else Brokers(folder, peer, brokers, settings)
            )
            servers.callback(server.stop)
            server.start()
            started.append(server)
        apart = tuple(server.bootstrap for server in started[1:])
        yield Broker(peer, started[0].bootstrap, started[0].zookeeper, brokers, apart, settings)


def _keep_logs(directory: Path, kept: Path) -> None:
    for log in directory.glob("**/broker.log"):
        of = "-".join(log.parent.relative_to(directory).parts)
        (kept / f"broker-{of}.log").write_bytes(log.read_bytes())


def kept_outcomes(suite: Suite, place: str) -> tuple[list[Outcome], int] | None:
    """What a suite said of a peer at its last run, and how many seconds it took."""
    path = BUILD / "results" / place / f"{suite.name}.outcomes.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    return [Outcome(*fields) for fields in kept["outcomes"]], kept["duration_s"]


def show(place: str, suites: list[Suite]) -> None:
    """The table of one peer; why each test failed or was skipped."""
    table = Table(title=f"other people's tests against {place}")
    for column in ("suite", PASSED, FAILED, SKIPPED, "seconds"):
        table.add_column(column, justify="left" if column == "suite" else "right")
    reasons = []
    for suite in suites:
        kept = kept_outcomes(suite, place)
        if kept is None:
            table.add_row(suite.name, "not run", "", "", "")
            continue
        outcomes, duration_s = kept
        counts = Counter(outcome.result for outcome in outcomes)
        table.add_row(suite.name, str(counts[PASSED]), str(counts[FAILED]), str(counts[SKIPPED]), str(duration_s))
        reasons += [(suite.name, outcome) for outcome in outcomes if outcome.result != PASSED]
    _console.print(table)
    for name, outcome in reasons:
        _console.print(f"{outcome.result:8}{name} {outcome.test}: {outcome.said}", markup=False, highlight=False)


def explain(suites: list[Suite], brokers: int) -> bool:
    """Tests that do better against Apache Kafka, each with its reason; False where one has none."""
    known = tomllib.loads(DIFFERENCES.read_text()).get("difference", [])
    unexplained = 0
    for suite in suites:
        theirs = kept_outcomes(suite, _place("kafka", brokers))
        ours = {place: kept_outcomes(suite, place) for place in (_place(peer, brokers) for peer in OURS)}
        if theirs is None or not any(ours.values()):
            missing = "kafka" if theirs is None else "headrace"
            _console.print(f"{suite.name}: nothing to compare with, it was not run against {missing}")
            continue
        passes_there = {outcome.test for outcome in theirs[0] if outcome.result == PASSED}
        for place, kept in ours.items():
            for outcome in kept[0] if kept else ():
                if outcome.result == PASSED or outcome.test not in passes_there:
                    continue
                reason = _reason(known, suite.name, outcome.test)
                unexplained += reason is None
                text = f"differs {place} {suite.name} {outcome.test}: {reason or f'NO REASON KNOWN: {outcome.said}'}"
                _console.print(text, style=None if reason else "red", markup=False, highlight=False)
    _console.print(f"differences without a reason: {unexplained}")
    return unexplained == 0


def _reason(known: list[dict[str, Any]], suite: str, test: str) -> str | None:
    for entry in known:
        if entry["suite"] != suite:
            continue
        if test in entry.get("tests", ()) or ("test" in entry and test.startswith(entry["test"])):
            return str(entry["reason"])
    return None


def _counts(outcomes: list[Outcome]) -> str:
    counts = Counter(outcome.result for outcome in outcomes)
    return shortened(", ".join(f"{counts[result]} {result}" for result in (PASSED, FAILED, SKIPPED)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make foreign", description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="all, if none is named: " + ", ".join(NAMES))
    parser.add_argument("--peer", choices=(*PEERS, TESTING), default="headrace", help="what the suites run against")
    parser.add_argument("--brokers", type=int, default=1, help="how many, in one cluster")
    parser.add_argument("--compare", action="store_true", help="run nothing, compare what was kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
