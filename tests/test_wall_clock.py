"""No interval goes by a clock that can be set: each place in a node that asks for the date, or for the date of a file, says what for."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("controller", "headrace", "log", "node", "protocol", "runtime", "shm", "workers")
DATE = re.compile(
    r"(?:(?<![.\w])|_|context\.)clock\.now_ms\b|\btime\.time\b|\btime\.time_ns\b|\bread_wall_ns\b|\bst_[mca]time(?:_ns)?\b|\bdatetime\.(?:now|utcnow)\b"
)
# file -> how many times, and what the date is for. A time that something has to wait is not among the reasons:
# it goes by `Clock.monotonic_ns`.
USES = {
    "controller/process.py": (4, "dates in znodes, and in the line that says since when ZooKeeper is away"),
    "headrace/clock.py": (3, "the clock itself"),
    "headrace/compiled_core.py": (1, "whether a file has changed: compared, never subtracted"),
    "log/compaction/compaction.py": (
        2,
        "how old a segment is, by the steady date: which producers may be known to the owner still",
    ),
    "log/disk.py": (2, "a file keeps the time of its last write"),
    "log/inspection/log_dir_check.py": (1, "whether a file has changed: compared, never subtracted"),
    "log/reading/segment_facts.py": (2, "retention of records without timestamps, against the steady date"),
    "log/recovery/log_loader.py": (
        1,
        "dates in producers' snapshots: they only rank producers beyond the bound of all, none expires by them",
    ),
    "log/recovery/replay.py": (1, "when batches were appended: ranks producers as above"),
    "log/state/producer_snapshot.py": (1, "the same"),
    "log/reading/segment_starts.py": (1, "dates of files, for the oldest form of ListOffsets"),
    "node/supervisor.py": (2, "the steady date, which follows it at half the pace of time"),
    "log/segments/segment.py": (1, "retention of records without timestamps"),
    "shm/fabric.py": (2, "the steady date of a life begins with it"),
    "shm/observer.py": (1, "the newest of several nodes: compared, never subtracted"),
    "workers/expiry_clock.py": (1, "retention, delete horizons and lags: they count from record timestamps"),
    "workers/network/fetch/epoch_files.py": (1, "whether a file has changed: compared, never subtracted"),
    "workers/network/handlers/a00_produce.py": (2, "bounds of record timestamps"),
    "workers/network/handlers/a02_list_offsets.py": (1, "the oldest form of ListOffsets asks for dates of files"),
    "workers/partition/replicas/log_opener.py": (
        1,
        "what dates in producers' snapshots are compared with: they only rank",
    ),
    "workers/partition/replicas/log_dir_moves.py": (2, "record timestamps"),
    "workers/partition/coordination/marker_writes.py": (1, "record timestamps"),
    "workers/partition/coordination/transaction_host.py": (1, "dates of transactions"),
    "workers/partition/worker.py": (3, "record timestamps, dates of commits"),
}


def found_uses():
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            count = sum(len(DATE.findall(line)) for line in path.read_text().splitlines())
            if count:
                found[str(path.relative_to(ROOT))] = count
    return found


def test_every_use_of_the_date_in_a_node_has_a_reason():
    assert found_uses() == {name: count for name, (count, _reason) in USES.items()}, (
        "an interval goes by Clock.monotonic_ns; a date that is one gets a line here"
    )


@pytest.mark.parametrize(
    "line",
    [
        "now = self._clock.now_ms()",
        "x = time.time()",
        "age = entry.stat().st_ctime_ns",
        "Agent(clock.now_ms)",
        "datetime.now()",
    ],
)
def test_what_asks_for_the_date_is_recognized(line):
    assert DATE.search(line)
