"""The walk as readers call it: by the kernel or by Python, without a compiler in any process, without a copy where none is needed.

Which bytes both are held against: `walk_cases.py`, run by `tests/protocol/test_record_kernel.py`.
"""

import dataclasses
import os
import random
import subprocess
import sys

import pytest

from headrace.arrow import columns, decode, gathered, rows
from headrace.arrow.errors import CorruptRange
from headrace.arrow.gathered import GATHER_BYTES_MAX, BinaryColumn
from headrace.arrow.ranges import read_range
from headrace.errors import HeadraceError
from headrace.limits import DECOMPRESSED_BYTES_MAX
from headrace.log.names import path_of
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import Record
from tests.arrow.range_reading import NAME, compared, expected, range_of, rows_of

PLANNING = """
import sys
import headrace.arrow, headrace.spark
from headrace.spark.datasource import HeadraceDataSource
options = {"kafka.bootstrap.servers": sys.argv[1], "subscribe": "clicks"}
source = HeadraceDataSource(options)
partitions = source.reader(source.schema()).partitions()
batches = [batch for partition in partitions for batch in source.reader(source.schema()).read(partition)]
rows = headrace.arrow.open("clicks", bootstrap_servers=sys.argv[1]).read_all().num_rows
print(len(partitions), sum(batch.num_rows for batch in batches), rows, sorted({"numba", "llvmlite"} & set(sys.modules)))
"""


def fill(log, seed):
    dice = random.Random(seed)
    for _ in range(12):
        records = [
            Record(
                index,
                1_700_000_000_000 + dice.randrange(-5000, 5000),
                dice.choice([None, b"", dice.randbytes(dice.randrange(30))]),
                dice.choice([None, b"", dice.randbytes(dice.choice([1, 12, 13, 200]))]),
                tuple((f"h{number}", dice.choice([None, b"", b"v"])) for number in range(dice.choice([0, 0, 2]))),
            )
            for index in range(dice.choice([1, 2, 30]))
        ]
        log.append(NAME, records, codec=dice.choice(list(Codec)))


@pytest.mark.parametrize("seed", range(3))
def test_both_read_the_rows_that_the_plain_reader_gives(log, broker, seed):
    fill(log, seed)
    last = log.ends[NAME]
    for start, end in ((0, last), (5, last - 3)):
        assert compared(rows_of(range_of(broker, start, end), rows_per_batch=9)) == expected(log, start, end)


@pytest.mark.process
def test_a_process_plans_and_reads_without_a_compiler(log, broker):
    fill(log, 1)
    rows = log.ends[NAME]
    command = [sys.executable, "-c", PLANNING, broker.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.stdout == f"1 {rows} {rows} []\n", done.stderr


def test_views_lie_in_the_mapped_segment(log, broker):
    for _ in range(3):
        log.append(NAME, [(b"k" * 20, b"v" * 100)] * 10)
    (batch,) = read_range(range_of(broker), ("key", "value"), are_views=True)
    with open("/proc/self/maps") as maps:
        spans = [line.split()[0].split("-") for line in maps if line.rstrip().endswith(f"{0:020d}.log")]
    mapped = [(int(low, 16), int(high, 16)) for low, high in spans]
    for name in ("key", "value"):
        _validity, _views, *sources = batch[name].buffers()
        assert sources
        assert all(any(low <= one.address < one.address + one.size <= high for low, high in mapped) for one in sources)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_column_grows_by_what_a_batch_may_need(log, broker, monkeypatch, codec):
    monkeypatch.setattr(columns, "GATHER_BYTES_FIRST", 1)
    for number in range(20):
        log.append(NAME, [(b"k%d" % number, bytes([number]) * 3_000)] * 3, codec=codec)
    found = rows_of(range_of(broker), ("key", "value"), rows_per_batch=7)
    assert found == [
        {"key": b"k%d" % number, "value": bytes([number]) * 3_000} for number in range(20) for _ in range(3)
    ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_chunk_ends_before_its_offsets_would_not_fit(log, broker, monkeypatch, codec):
    monkeypatch.setattr(gathered, "GATHER_BYTES_MAX", 20_000)
    monkeypatch.setattr(columns, "GATHER_BYTES_FIRST", 1)
    for number in range(6):
        log.append(NAME, [(None, random.Random(number).randbytes(7_000))], codec=codec)
    if codec:
        monkeypatch.setattr(rows, "BYTES_PER_BATCH", 15_000)
    batches = list(read_range(range_of(broker), ["value"]))
    assert sum(batch.num_rows for batch in batches) == 6
    assert len(batches) >= 3


def test_one_batch_always_fits_a_column():
    assert DECOMPRESSED_BYTES_MAX <= GATHER_BYTES_MAX
    column = BinaryColumn(1)
    with pytest.raises(HeadraceError, match=f"{GATHER_BYTES_MAX + 1} bytes in one column of one Arrow batch"):
        column.reserve_bytes(GATHER_BYTES_MAX + 1)


def test_many_compressed_batches_are_walked_at_once(log, broker, monkeypatch):
    for number in range(200):
        log.append(NAME, [(b"k", b"%d" % number)] * 2, codec=Codec.LZ4)
    calls = {"walk_batches": 0, "walk_listed": 0}

    def counted(name, real):
        def call(*given):
            calls[name] += 1
            return real(*given)

        return call

    for name in calls:
        monkeypatch.setattr(rows, name, counted(name, getattr(rows, name)))
    found = [row["value"] for row in rows_of(range_of(broker), ("value",))]
    assert found == [b"%d" % number for number in range(200) for _ in range(2)]
    assert sum(calls.values()) < 12
    assert [row["value"] for row in rows_of(range_of(broker, 399, 400))] == [b"199"]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_the_batch_that_is_wrong_among_many_is_named(log, broker, codec):
    for _ in range(5):
        log.append(NAME, [(b"k", b"value")] * 3, codec=codec)
    path = path_of(log.partition_directory(NAME), 0, ".log")
    data = bytearray(path.read_bytes())
    size = len(data) // 5
    data[2 * size + 57 : 2 * size + 61] = (4).to_bytes(4, "big")  # one record more than there are
    path.write_bytes(data)
    one = dataclasses.replace(range_of(broker), checks_crcs=False)
    with pytest.raises(CorruptRange, match=rf"the batch at byte {2 * size}: its records don't match their lengths"):
        rows_of(one)


def test_that_python_walks_is_told_once_in_a_process(monkeypatch, caplog):
    monkeypatch.setattr(decode.compiled_kernel, "KERNEL", None)
    decode.tell_if_slow.cache_clear()
    try:
        decode.tell_if_slow()
        decode.tell_if_slow()
    finally:
        decode.tell_if_slow.cache_clear()
    (record,) = (record for record in caplog.records if "decoded in pure Python" in record.message)
    assert record.levelname == "WARNING"
