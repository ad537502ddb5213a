"""Records of many batches as columns, and the hashes of their keys: what compaction needs to know of a record.

The records of a batch follow each other by their lengths, so that one batch is a walk from length to length; but many
batches are walked side by side: each step goes over the next record of every batch that has one left (a lane), in a few
NumPy calls whatever the number of lanes. Where few lanes are left, the rest is walked one by one. Once every record's
start is known, the fields of all of them are decoded at once.

    record   length | attributes i8 | timestamp delta | offset delta | key length | key | value length | value | headers

Where the record kernel was built (`protocol/record_kernel.py`), it fills the columns in one walk, and what is here is for bytes that it
refuses. Bytes are not trusted: a record that contradicts its length raises. Headers are carried, not decoded.

Hashes are 2 x 64 bits, each the NH hash of UMAC with secrets of this process: two keys of an attacker's choice, who doesn't
know them, collide in both with a chance of 2**-64. Source: Black et al., "UMAC: Fast and Secure Message Authentication".

Runs in: the housekeeper.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.limits import KEY_WORDS_MAX, LANES_MIN
from headrace.protocol import record_kernel
from headrace.protocol.record_batch import RECORD_BYTES_MIN, CorruptRecord
from headrace.protocol.varint import read_varlong

PADDING_BYTES = 64  # after the last lane: steps load 8 bytes at a time, and read before they check

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_fill_columns: Final = record_kernel.fill_columns
_hash_keys: Final = record_kernel.hash_keys

_U = np.uint64
_STOP_BITS = _U(0x8080808080808080)
_STOPS = np.array([1 << (8 * count - 1) for count in range(1, 9)], np.uint64)
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
    lane = np.repeat(np.arange(len(counts)), counts)
    try:
        record_starts = _record_starts(data, starts, ends, counts)
        return _decode_fields(data, lane, record_starts, ends, counts)
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"a record among {len(lane)}: {failure}") from None


def _record_starts(data: npt.NDArray[np.uint8], starts: Ints, ends: Ints, counts: Ints) -> Ints:
    """Where each record begins, lane by lane. raises CorruptRecord, ValueError"""
    words: Words = np.ndarray((len(data) - 7,), "<u8", buffer=data, strides=(1,))
    found = np.empty(int(counts.sum()), np.int64)
    first = np.cumsum(counts) - counts
    order = np.argsort(-counts, kind="stable")
    position, end, place, left = starts[order], ends[order], first[order], counts[order]
    ascending = -left
    depth = 0
    while True:
        lanes = int(np.searchsorted(ascending, -depth))  # those with a count above the depth
        if lanes < LANES_MIN:
            break
        found[place[:lanes] + depth] = position[:lanes]
        length, body = _varints(data, words, position[:lanes])
        if np.any(length < RECORD_BYTES_MIN - 1) or np.any(length > end[:lanes] - body):  # a sum might pass 64 bits
            raise CorruptRecord("a record is longer than its batch, or too short")
        position[:lanes] = body + length
        depth += 1
    plain = data.data
    for index in range(lanes):
        count = int(left[index]) - depth
        at = int(place[index]) + depth
        found[at : at + count] = _starts_of_one(plain, int(position[index]), int(end[index]), count)
    return found


def _starts_of_one(data: memoryview, position: int, end: int, count: int) -> list[int]:
    """Where the next `count` records of one lane begin; lengths of one and two bytes are read in place."""
    found: list[int] = []
    append = found.append
    try:
        for _ in range(count):
            append(position)
            byte = data[position]
            if byte < 128:
                position += 1 + (byte >> 1)
            else:
                second = data[position + 1]
                if second < 128:
                    position += 2 + ((byte & 127 | second << 7) >> 1)
                else:
                    length, position = read_varlong(data, position)
                    position += max(length, 0)
            if position > end:
                raise CorruptRecord("a record is longer than its batch")
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record at byte {position}: {failure}") from None
    return found


def _decode_fields(
    data: npt.NDArray[np.uint8], lane: Ints, starts: Ints, lane_ends: Ints, counts: Ints
) -> RecordColumns:
    """The fields of records that begin at `starts`, each of which has to end where the next begins."""
    words: Words = np.ndarray((len(data) - 7,), "<u8", buffer=data, strides=(1,))
    length, body = _varints(data, words, starts)
    ends = body + length
    expected = np.empty(len(starts), np.int64)
    expected[:-1] = starts[1:]
    last = np.cumsum(counts)[counts > 0] - 1
    expected[last] = lane_ends[counts > 0]
    if np.any(length < RECORD_BYTES_MIN - 1) or np.any(ends != expected):
        raise CorruptRecord("records that are too short, or don't end where their batch does")
    timestamp_delta, timestamp_end = _varints(data, words, body + 1)
    offset_delta, key_at = _varints(data, words, timestamp_end)
    key_length, key_start = _varints(data, words, key_at)
    key_bytes = np.maximum(key_length, 0)
    if np.any(key_bytes >= ends - key_start) or np.any(key_length < -1):
        raise CorruptRecord("a key is longer than its record")
    value_length, value_start = _varints(data, words, key_start + key_bytes)
    if np.any(np.maximum(value_length, 0) >= ends - value_start) or np.any(value_length < -1):
        raise CorruptRecord("a value is longer than its record")
    return RecordColumns(
        lane, starts, body, timestamp_end, ends, timestamp_delta, offset_delta, key_start, key_length, value_length
    )


def _varints(data: npt.NDArray[np.uint8], words: Words, position: Ints) -> tuple[Ints, Ints]:
    """(values, positions after them) of zigzag varints; raises IndexError or ValueError, where one has no end.

    words   the same bytes, eight from each on. A varint of more is legal, and nothing that writers write: such are read
            one by one
    """
    word = words[position]
    stops = ~word & _STOP_BITS
    overlong: Ints | None = None
    if np.all(stops & _U(0x80)):
        value = word & _U(0x7F)
        after = position + 1
    else:
        if not np.all(stops):
            overlong = np.nonzero(stops == 0)[0]
        lowest = stops & (~stops + _U(1))
        after = position + np.searchsorted(_STOPS, lowest) + 1
        value = word & (lowest - _U(1)) & _U(0x7F7F7F7F7F7F7F7F)
        value = (value & _U(0x007F007F007F007F)) | ((value & _U(0x7F007F007F007F00)) >> _U(1))
        value = (value & _U(0x00003FFF00003FFF)) | ((value & _U(0x3FFF00003FFF0000)) >> _U(2))
        value = (value & _U(0x000000000FFFFFFF)) | ((value & _U(0x0FFFFFFF00000000)) >> _U(4))
    decoded = (value >> _U(1)).astype(np.int64) ^ -(value & _U(1)).astype(np.int64)
    if overlong is not None:
        plain = data.data
        for index in overlong.tolist():
            decoded[index], after[index] = read_varlong(plain, int(position[index]))
    return decoded, after


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
