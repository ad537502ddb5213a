"""Keys and values as views, written by the walk: equal to copies, and inside of their source whatever the bytes say."""

import dataclasses
import random

import numpy as np
import pytest

from headrace.arrow.errors import CorruptRange
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.rows import Rows
from headrace.protocol.compression import Codec, compress
from headrace.protocol.record_batch import HEADER, Record, build_batch, parse_header

COLUMNS = ("offset", "key", "value", "timestamp", "timestampType", "headers", "key_length", "value_length")
RANGE = OffsetRange("clicks", 0, 0, 1000, "", "")


def batches_of(dice, codecs):
    data, offset = b"", 0
    for _ in range(6):
        records = [
            Record(
                index,
                1_000_000 + dice.randrange(10**9),
                dice.choice([None, b"", dice.randbytes(dice.randrange(30))]),
                dice.choice([None, b"", dice.randbytes(dice.choice([1, 12, 13, 200, 9000]))]),
                (("h", b"v"),) * dice.choice([0, 2]),
            )
            for index in range(dice.choice([1, 20]))
        ]
        data += build_batch(records, base_offset=offset, codec=dice.choice(codecs))
        offset += len(records)
    return data, offset


def read(one, data, are_views, columns=COLUMNS):
    rows = Rows(one, columns, 50, are_views)
    source = np.frombuffer(bytes(data), np.uint8)
    found = [*rows.add(source, 0, len(source), "here"), *rows.finish()]
    for batch in found:
        batch.validate(full=True)
    return [row for batch in found for row in batch.to_pylist()]


@pytest.mark.parametrize("seed", range(5))
def test_views_and_copies_are_equal_column_by_column(seed):
    data, end = batches_of(random.Random(seed), list(Codec))
    one = dataclasses.replace(RANGE, start=seed, end=end)
    wanted = read(one, data, False)
    assert read(one, data, True) == wanted
    assert len(wanted) == end - seed
    for name in COLUMNS:  # what is not asked for leaves no trace in what is
        assert read(one, data, True, (name,)) == [{name: row[name]} for row in wanted]
        assert read(one, data, False, (name,)) == [{name: row[name]} for row in wanted]


def test_compressed_batches_of_nothing_among_others_move_no_view():
    parts = []
    for number in range(6):
        whole = build_batch([Record(0, 1, None, b"%d" % number * 40)], base_offset=number, codec=Codec.GZIP)
        if number in (1, 2, 4):
            header = parse_header(whole)._replace(record_count=0)
            body = compress(Codec.GZIP, b"")
            whole = HEADER.pack(*header._replace(batch_length=HEADER.size - 12 + len(body))) + body
        parts.append(whole)
    found = read(dataclasses.replace(RANGE, end=6, checks_crcs=False), b"".join(parts), True, ("value",))
    assert found == [{"value": b"%d" % number * 40} for number in (0, 3, 5)]


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_without_checksums_give_the_same_both_ways_and_valid_views(seed):
    dice = random.Random(seed)
    data, end = batches_of(dice, [Codec.NONE, Codec.GZIP])
    one = dataclasses.replace(RANGE, end=end, checks_crcs=False)
    columns = tuple(name for name in COLUMNS if name != "timestamp")  # it may overflow
    refused = 0
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        found = []
        for are_views in (False, True):
            try:
                found.append(read(one, changed, are_views, columns))
            except CorruptRange:
                found.append(None)
        assert found[0] == found[1]
        refused += found[0] is None
    assert 0 < refused < 150
