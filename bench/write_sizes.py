"""What a write costs the kernel by its size: CPU seconds for each GiB that is appended to files in turn, as a log is written.

A size that is no multiple of a page leaves every write begin within one, and makes the kernel cache it in small pieces: a piece
has to lie at a multiple of its own size. So it is not the copy that costs, but the bookkeeping for each piece and block. Each
size is measured with blocks that are set aside ahead (`Disk.reserve`, docs/decisions/007) and without.

    python bench/write_sizes.py [--rounds 3] [--dir DIRECTORY]

Medians of the rounds are printed, with the spread.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.page_cache import PageCache  # noqa: E402
from headrace.limits import SEGMENT_RESERVE_BYTES_MAX  # noqa: E402
from headrace.log.disk import Disk  # noqa: E402

GIB = 1 << 30
FILES = 8  # as many partitions as the other benches have
SIZES = {
    "one batch of 16 KiB, 16,497 bytes": 16_497,
    "four of them": 4 * 16_497,
    "64 KiB, aligned": 64 << 10,
    "fourteen batches": 14 * 16_497,
    "1 MiB, aligned": 1 << 20,
}


def append_cpu_s(directory: Path, size: int, reserve_bytes: int, disk: Disk) -> float:
    """CPU seconds for a GiB in writes of `size`; the files are removed."""
    data = memoryview(os.urandom(size))
    paths = [directory / f"{index}.log" for index in range(FILES)]
    fds = [os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for path in paths]
    position = reserved = 0  # of each file
    begun = os.times()
    while position * FILES < GIB:
        if reserve_bytes and position + size > reserved:
            for fd in fds:
                disk.reserve(fd, reserved, reserve_bytes)
            reserved += reserve_bytes
        for fd in fds:
            disk.write_all(fd, [data], position)
        position += size
    ended = os.times()
    for fd, path in zip(fds, paths, strict=True):
        os.close(fd)
        path.unlink()
    return (ended.user + ended.system - begun.user - begun.system) * GIB / (position * FILES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path, help="directory for the files (default: a temporary one)")
    given = parser.parse_args()
    disk = Disk()
    found: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-writes-", dir=given.dir) as name:
        directory = Path(name)
        page_cache = PageCache(directory)
        for _ in range(given.rounds):
            for label, size in SIZES.items():
                for reserve_bytes in (0, SEGMENT_RESERVE_BYTES_MAX):
                    page_cache.fill()
                    cpu_s = append_cpu_s(directory, size, reserve_bytes, disk)
                    found.setdefault((label, reserve_bytes), []).append(cpu_s)
    print("| writes of | CPU s/GiB | with blocks ahead |\n|---|---|---|")
    for label in SIZES:
        print(f"| {label} | {_spread(found[label, 0])} | {_spread(found[label, SEGMENT_RESERVE_BYTES_MAX])} |")


def _spread(figures: list[float]) -> str:
    return f"{statistics.median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


if __name__ == "__main__":
    main()
