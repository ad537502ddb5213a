"""Headers in kernels: what the plain reader finds, and nothing of what contradicts its length."""

import random

import numpy as np
import pyarrow as pa
import pytest

from headrace.arrow.column_types import HEADERS_TYPE
from headrace.arrow.header_lists import HeaderLists
from headrace.protocol.record_batch import CorruptRecord
from headrace.protocol.varint import encode_varlong


def encoded(headers):
    parts = [encode_varlong(len(headers))]
    for key, value in headers:
        parts += [encode_varlong(len(key)), key, encode_varlong(-1 if value is None else len(value)), value or b""]
    return b"".join(parts)


def lists_of(blobs, cut=None):
    """The column of some records, added in two goes."""
    lengths = np.array([len(blob) for blob in blobs], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    source = np.frombuffer(b"".join(blobs), np.uint8)
    column = HeaderLists(len(blobs))
    cut = len(blobs) // 2 if cut is None else cut
    column.add(source, starts, lengths, 0, cut)
    column.add(source, starts, lengths, cut, len(blobs))
    found = column.array(len(blobs))
    found.validate(full=True)
    assert found.type == HEADERS_TYPE
    return found.to_pylist()


def test_headers_come_as_they_were_written():
    dice = random.Random(3)
    kept = [
        [
            (
                dice.randbytes(dice.randrange(40)).hex().encode(),
                dice.choice([None, b"", dice.randbytes(dice.randrange(900))]),
            )
            for _ in range(dice.choice([0, 0, 1, 3, 70]))
        ]
        for _ in range(300)
    ]
    wanted = [[{"key": key.decode(), "value": value} for key, value in one] or None for one in kept]
    assert lists_of([encoded(one) for one in kept]) == wanted


def test_a_key_that_is_not_utf8_comes_with_replacements():
    blobs = [encoded([(b"a\xff", b"1")]), encoded([("größe".encode(), None)])]
    assert lists_of(blobs) == [[{"key": "a\ufffd", "value": b"1"}], [{"key": "größe", "value": None}]]


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        encode_varlong(1),
        encode_varlong(-1),
        encode_varlong(2**62),
        encode_varlong(1) + encode_varlong(-1) + encode_varlong(0),  # a null key
        encode_varlong(1) + encode_varlong(2**40) + encode_varlong(0),
        encode_varlong(1) + encode_varlong(0) + encode_varlong(2**62),
        encoded([(b"k", b"v")]) + b"x",
        encoded([(b"k", b"v")])[:-1],
        b"\xff" * 11,
    ],
)
def test_headers_that_contradict_their_length_are_refused_before_memory_is_taken(blob):
    good = encoded([(b"k", b"v")])
    with pytest.raises(
        CorruptRecord, match=f"headers at byte {len(good)} contradict their record, which has {len(blob)} left"
    ):
        lists_of([good, blob, good])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_flipped_bytes_give_valid_lists_or_an_error(seed):
    dice = random.Random(seed)
    whole = bytearray(encoded([(b"key%d" % number, b"v" * number) for number in range(5)]))
    refused = 0
    for _ in range(2000):
        blob = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            blob[dice.randrange(len(blob))] = dice.randrange(256)
        try:
            (one,) = lists_of([bytes(blob)])
        except CorruptRecord:
            refused += 1
        else:
            assert sum(len(header["value"] or b"") for header in one or []) <= len(blob)
    assert 100 < refused < 2000


def test_an_empty_column_has_its_type():
    column = HeaderLists(4)
    assert column.array(0).equals(pa.array([], HEADERS_TYPE))
