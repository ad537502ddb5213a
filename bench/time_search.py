"""Look-ups by time of honest clients, of this tree beside another one: what the search costs, as ratios.

    python -m bench.time_search --other ../before [--mib 1024] [--rounds 5]

    small batches   a segment of --mib, batches of one record of 100 bytes, both indexes as the log writes them; times all over it
    one batch       40,000 records of 100 bytes in one batch, by gzip and uncompressed; times all over it
    latest          the record with the largest time, of both

Each tree measures in a process of its own, by its own `.venv`, over the same files, by turns; what counts is the median of the rounds.
"in slices" is this tree's search with the share that a network worker gives it in one cycle. Files are in the page cache. The aim: at
most 1.0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__" and "--measure" not in sys.argv:
    sys.path.insert(0, str(ROOT))

from headrace.log.index_layout import OFFSET_ENTRY, TIME_ENTRY  # noqa: E402
from headrace.log.reading.reader import LogReader  # noqa: E402
from headrace.protocol.record_batch import Record, build_batch  # noqa: E402

T0_MS = 1_700_000_000_000
INDEX_BYTES = 4_096
RECORDS = 40_000
SHARE = 4 << 20
SMALL, PACKED, PLAIN = "small batches", "one batch, gzip", "one batch, uncompressed"


def write_small(directory: Path, size_bytes: int) -> int:
    """A segment of batches of one record, a millisecond apart; returns how many."""
    directory.mkdir()
    one = bytearray(build_batch([Record(0, T0_MS, None, b"v" * 100)]))
    count = size_bytes // len(one)
    index, times, since = bytearray(), bytearray(), INDEX_BYTES
    with open(directory / f"{0:020d}.log", "wb") as log:
        out = bytearray()
        for offset in range(count):
            if since >= INDEX_BYTES and offset:
                index += OFFSET_ENTRY.pack(offset, offset * len(one))
                times += TIME_ENTRY.pack(T0_MS + offset - 1, offset - 1)
                since = 0
            since += len(one)
            one[:8] = offset.to_bytes(8, "big")
            one[27:35] = one[35:43] = (T0_MS + offset).to_bytes(8, "big")
            out += one
            if len(out) > 1 << 22:
                log.write(out)
                out.clear()
        log.write(out)
    (directory / f"{0:020d}.index").write_bytes(index)
    (directory / f"{0:020d}.timeindex").write_bytes(times)
    return count


def write_one(directory: Path, codec: int) -> int:
    """A segment of one batch, and no index entry, as a log has none of its first batch."""
    directory.mkdir()
    records = [
        Record(index, T0_MS + index, None, b'{"user": %07d, "page": "/index.html"}' % index + b" " * 60)
        for index in range(RECORDS)
    ]
    (directory / f"{0:020d}.log").write_bytes(build_batch(records, codec=codec))
    for suffix in (".index", ".timeindex"):
        (directory / f"{0:020d}{suffix}").write_bytes(b"")
    return RECORDS


def seconds(call: Callable[[int], object], times: list[int]) -> float:
    began = time.perf_counter()
    for one in times:
        call(one)
    return (time.perf_counter() - began) / len(times)


def measure(directory: Path, count: int, look_ups: int) -> dict[str, float]:
    """Seconds for a look-up, by what is looked up."""
    lot = random.Random(7)
    times = [T0_MS + lot.randrange(count) for _ in range(look_ups)]
    size = (directory / f"{0:020d}.log").stat().st_size
    reader = LogReader(directory)
    reader.refresh(1)
    assert reader.first_offset_at(times[0], 0, 0, size)[:2] == (times[0], times[0] - T0_MS)
    found = {
        "by time": seconds(lambda one: reader.first_offset_at(one, 0, 0, size), times),
        "latest": seconds(lambda _one: reader.max_timestamp(0, size), times[: max(1, look_ups // 4)]),
    }
    try:
        from headrace.log.reading.time_search import TimeSearch
        from headrace.log.reading.work_share import WorkShare
    except ImportError:  # the other tree may be of before
        return found

    def in_slices(one: int) -> None:
        search = TimeSearch(one, 0, size)
        while not search.step(reader, 0, WorkShare(SHARE)):
            pass

    return found | {"by time, in slices": seconds(in_slices, times)}


def asked(tree: Path, directory: Path, count: int, look_ups: int) -> dict[str, float]:
    """`measure` in a process of a tree's own."""
    command = [
        str(tree / ".venv" / "bin" / "python"),
        str(ROOT / "bench" / "time_search.py"),
        "--measure",
        str(directory),
        str(count),
        str(look_ups),
    ]
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="another checkout to compare with")
    parser.add_argument("--mib", type=int, default=1_024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(Path(given.measure[0]), int(given.measure[1]), int(given.measure[2]))))
        return 0
    work = Path(tempfile.mkdtemp(prefix="headrace-time-search-"))
    try:
        logs = {
            SMALL: (work / "small", write_small(work / "small", given.mib << 20), 2_000),
            PACKED: (work / "packed", write_one(work / "packed", 1), 30),
            PLAIN: (work / "plain", write_one(work / "plain", 0), 30),
        }
        for name, (directory, count, look_ups) in logs.items():
            rounds: list[tuple[dict[str, float], dict[str, float]]] = []
            for _ in range(given.rounds):
                rounds.append((asked(ROOT, directory, count, look_ups), asked(given.other, directory, count, look_ups)))
            for what in rounds[0][0]:
                peer = what.split(",")[0]
                ours, theirs = (
                    statistics.median(one[which][key] for one in rounds) for which, key in ((0, what), (1, peer))
                )
                print(
                    f"{name:26} {what:20} {ours * 1e3:9.3f} ms   other {theirs * 1e3:9.3f} ms   ratio {ours / theirs:.2f}"
                )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
