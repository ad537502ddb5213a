"""How fast one core turns segment bytes in the page cache into Arrow batches, without Spark.

    python bench/decode.py [--records N] [--value-bytes B] [--runs R] [--unchecked]

Each line is the median CPU time over R runs of `read_range` over the same segment file, for a codec and a set of columns: CPU time, so
that a neighbour on the machine does not count (what the kernel does for page faults does). The first run of each is not counted. Views
are what `headrace.arrow` hands on, the rest what Spark gets. The `plain reader` line is `protocol.record_batch.iterate_records`, over a
tenth.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headrace.arrow.column_types import KAFKA_COLUMNS
from headrace.arrow.ranges import OffsetRange, read_range
from headrace.log.index_layout import OFFSET_ENTRY
from headrace.log.names import path_of
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records

RECORDS_PER_BATCH = 150  # 16 KiB batches at 100-byte values, a producer's default
CLUSTER_ID = "bench"
COLUMNS = {
    "lengths": ("value_length",),
    "value": ("value",),
    "key, value": ("key", "value"),
    "all of kafka's": KAFKA_COLUMNS,
}
VIEWS = {
    "views of value": ("value",),
    "offset, time, views": ("offset", "timestamp", "value"),
}  # as `headrace.arrow` reads


def write_log(directory: Path, codec: int, records: int, value_bytes: int) -> tuple[OffsetRange, int]:
    """One segment of batches; its range and size."""
    (directory / "meta.properties").write_text(f"version=0\nbroker.id=0\ncluster.id={CLUSTER_ID}\n")
    partition = directory / "bench-0"
    partition.mkdir()
    dice = random.Random(7)
    words = [dice.randbytes(6).hex().encode() for _ in range(2000)]
    variants = []
    for _ in range(16):
        rows = [
            (b"key-%06d" % dice.randrange(10**6), b" ".join(dice.choices(words, k=value_bytes // 13 + 1))[:value_bytes])
            for _ in range(RECORDS_PER_BATCH)
        ]
        variants.append(bytearray(build_batch(rows, timestamp_ms=1_700_000_000_000, codec=codec)))
    with open(path_of(partition, 0, ".log"), "wb") as file, open(path_of(partition, 0, ".index"), "wb") as index:
        for number in range(records // RECORDS_PER_BATCH):
            batch = variants[number % len(variants)]
            if number:
                index.write(OFFSET_ENTRY.pack(number * RECORDS_PER_BATCH, file.tell()))
            batch[:8] = (number * RECORDS_PER_BATCH).to_bytes(8, "big")
            file.write(batch)
        size = file.tell()
    end = records // RECORDS_PER_BATCH * RECORDS_PER_BATCH
    return OffsetRange("bench", 0, 0, end, "127.0.0.1:1", CLUSTER_ID, ((0, "127.0.0.1", str(directory)),)), size


def median_seconds(work: Callable[[], int], runs: int, expected: int) -> float:
    """Of `runs` runs after a first one that is not counted; each must give `expected` rows."""
    seconds = []
    for _ in range(runs + 1):
        begun = time.process_time()
        assert work() == expected
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description="measure the decode rate of one core")
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--unchecked", action="store_true", help="don't compare checksums")
    given = parser.parse_args()
    print(
        f"{given.records:,} records of {given.value_bytes} bytes, {RECORDS_PER_BATCH} a batch, median of {given.runs}"
    )
    print(f"{'codec':8} {'columns':20} {'M records/s':>12} {'MB/s of file':>13} {'ns a record':>12}")
    for codec in Codec:
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
            one, size = write_log(Path(name), codec, given.records, given.value_bytes)
            one = replace(one, checks_crcs=not given.unchecked)
            for title, columns in (COLUMNS | VIEWS).items():

                def scan(
                    one: OffsetRange = one, columns: tuple[str, ...] = columns, are_views: bool = title in VIEWS
                ) -> int:
                    return sum(batch.num_rows for batch in read_range(one, columns, are_views=are_views))

                _show(codec.name.lower(), title, one.end, size, median_seconds(scan, given.runs, one.end))
            if codec == Codec.NONE:
                data = path_of(Path(name) / "bench-0", 0, ".log").read_bytes()[: size // 10]
                rows = sum(header.record_count for _position, header, _batch in iterate_batches(data))

                def plain(data: bytes = data) -> int:
                    return sum(1 for _p, _h, batch in iterate_batches(data) for _record in iterate_records(batch))

                _show("none", "plain reader", rows, len(data), median_seconds(plain, 1, rows))


def _show(codec: str, columns: str, rows: int, size: int, seconds: float) -> None:
    rate, megabytes, nanoseconds = rows / seconds / 1e6, size / seconds / 1e6, seconds / rows * 1e9
    print(f"{codec:8} {columns:20} {rate:12.2f} {megabytes:13.0f} {nanoseconds:12.0f}", flush=True)


if __name__ == "__main__":
    main()
