"""Records of many batches as columns, and the hashes of their keys: what compaction needs to know of a record.

Where the record kernel was built (`protocol/record_kernel.py`), it fills the columns in one call. Else, and for bytes that it
refuses, the records of each batch (a lane) are walked by `walk_spans`. Bytes are not trusted: a record that contradicts its length
raises. Headers are carried, not decoded.

Hashes are 2 x 64 bits, each the NH hash of UMAC with secrets of this process: two keys of an attacker's choice, who doesn't
know them, collide in both with a chance of 2**-64. Source: Black et al., "UMAC: Fast and Secure Message Authentication".

Runs in: the housekeeper.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.limits import KEY_WORDS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.record_batch import RECORD_BYTES_MIN, CorruptRecord, RecordSpans, walk_spans

PADDING_BYTES = 64  # after the last lane: keys are hashed 8 bytes at a time

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_fill_columns: Final = record_kernel.fill_columns
_hash_keys: Final = record_kernel.hash_keys

_U = np.uint64
_LOW_32 = _U(0xFFFFFFFF)
_SECRETS = np.frombuffer(os.urandom(4 * 8 * KEY_WORDS_MAX), np.uint64).reshape(4, KEY_WORDS_MAX)
_LONG_KEY_SECRET = os.urandom(32)
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(8)] + [2**64 - 1], np.uint64)


class RecordColumns(NamedTuple):
    """One entry a record, lane by lane. Positions are bytes of the buffer; a length of -1 is null.

    body         after the length: where the attributes stand
    timestamp_end   after the timestamp delta
    """

    lane: Ints
    start: Ints
    body: Ints
    timestamp_end: Ints
    end: Ints
    timestamp_delta: Ints
    offset_delta: Ints
    key_start: Ints
    key_length: Ints
    value_length: Ints


def walk_lanes(data: npt.NDArray[np.uint8], starts: Ints, ends: Ints, counts: Ints) -> RecordColumns:
    """The records of many batches, decompressed.

    data             the buffer, with PADDING_BYTES after the last lane
    starts, ends     of each lane's records
    counts           records of each lane
    raises           CorruptRecord
    """
    if np.any(counts < 0) or np.any(counts * RECORD_BYTES_MIN > ends - starts):
        raise CorruptRecord("a batch announces more records than it has bytes for")
    if np.any((counts == 0) & (starts != ends)):
        raise CorruptRecord("bytes in a batch without records")
    if _fill_columns is not None:
        columns = np.empty((len(RecordColumns._fields), int(counts.sum())), np.int64)
        if _fill_columns(data, starts, ends, counts, columns):
            return RecordColumns(*columns)
    table = array("q")
    try:
        for start, end, count in zip(starts.tolist(), ends.tolist(), counts.tolist(), strict=True):
            _walk_lane(data[start:end].tobytes(), count, table)
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"a record among {int(counts.sum())}: {failure}") from None
    spans: Any = RecordSpans(*np.array(table, np.int64).reshape(-1, len(RecordSpans._fields)).T)
    if np.any(spans.key_length < -1) or np.any(spans.value_length < -1):
        raise CorruptRecord("a negative length that is not that of null")
    origin = np.repeat(starts, counts)
    return RecordColumns(
        np.repeat(np.arange(len(counts)), counts), origin + spans.start, origin + spans.body, origin + spans.time_end,
        origin + spans.end, np.ascontiguousarray(spans.time_delta), np.ascontiguousarray(spans.offset_delta),
        origin + spans.key_start, np.ascontiguousarray(spans.key_length), np.ascontiguousarray(spans.value_length),
    )  # fmt: skip


def _walk_lane(data: bytes, count: int, table: array[int]) -> None:
    """The spans of the records of one batch into a table. raises CorruptRecord, IndexError, ValueError"""
    position = 0
    for spans in walk_spans(data, 0, count):
        if spans.headers >= spans.end:
            raise CorruptRecord("a value is longer than its record")
        table.extend(spans)
        position = spans.end
    if position != len(data):
        raise CorruptRecord("records that are too short, or don't end where their batch does")


def hash_keys(data: npt.NDArray[np.uint8], start: Ints, length: Ints) -> tuple[Words, Words]:
    """Two 64-bit hashes of each key. `data` as for `walk_lanes`; no length is below 0."""
    first = np.zeros(len(start), np.uint64)
    second = np.zeros(len(start), np.uint64)
    longest = int(length.max(initial=0))
    if _hash_keys is not None:
        _hash_keys(data, _SECRETS, start, length, first, second)
    else:
        first, second = _hash_words(data, start, length, first, second, longest)
    if longest > 8 * KEY_WORDS_MAX:
        for place in np.nonzero(length > 8 * KEY_WORDS_MAX)[0]:
            key = data[start[place] : start[place] + length[place]].tobytes()
            digest = hashlib.blake2b(key, digest_size=16, key=_LONG_KEY_SECRET).digest()
            first[place] = int.from_bytes(digest[:8], "big")
            second[place] = int.from_bytes(digest[8:], "big")
    return first, second


def _hash_words(
    data: npt.NDArray[np.uint8], start: Ints, length: Ints, first: Words, second: Words, longest: int
) -> tuple[Words, Words]:
    """Of the first KEY_WORDS_MAX words of each key; `first` and `second` are 0."""
    words: Words = np.ndarray((len(data) - 7,), "<u8", buffer=data, strides=(1,))
    for index in range(min(KEY_WORDS_MAX, (longest + 7) // 8)):
        left = length - 8 * index
        chosen: Any = slice(None) if int(left.min(initial=1)) > 0 else np.nonzero(left > 0)[0]
        word = words[start[chosen] + 8 * index] & _MASKS[np.minimum(left[chosen], 8)]
        low, high = word & _LOW_32, word >> _U(32)
        secrets = _SECRETS[:, index]
        first[chosen] += ((low + secrets[0]) & _LOW_32) * ((high + secrets[1]) & _LOW_32)
        second[chosen] += ((low + secrets[2]) & _LOW_32) * ((high + secrets[3]) & _LOW_32)
    return _mixed(first, length), _mixed(second, length)


def _mixed(value: Words, length: Ints) -> Words:
    """A bijection of 64 bits for each length (the finalizer of MurmurHash3), so that any bits serve as a slot."""
    value = value + length.astype(np.uint64) * _U(0x9E3779B97F4A7C15)
    value = (value ^ (value >> _U(33))) * _U(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> _U(33))) * _U(0xC4CEB9FE1A85EC53)
    return value ^ (value >> _U(33))
