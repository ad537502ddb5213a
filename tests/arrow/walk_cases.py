"""Bytes for the kernel's walk into Arrow's columns and for Python's: batches as they are written, then spoilt, and targets of every shape.

`tests/protocol/kernel_cases.py` runs as many cases as wanted, under sanitizers too.
"""

import json
import struct

import numpy as np
from crc32c import crc32c

from headrace.arrow import python_walk
from headrace.arrow.target import (
    FIELDS,
    HEADERS_LENGTH,
    HEADERS_START,
    LISTED_COUNT,
    LISTED_FIELDS,
    LISTED_POSITION,
    LISTED_SIZE,
    OFFSET,
    SUMS,
    WALK_END,
    WALK_FULL,
    WALK_LISTED,
    WALK_PAUSED,
    WALK_ROOM,
    Target,
)
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_BIT,
    CRC_POSITION,
    HEADER,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    Record,
    compute_crc,
)
from headrace.protocol.varint import encode_varlong

STEPS_MAX = 60  # of one case: a target that is full ends it, or bytes that are refused
PRODUCERS = (5, 7)


def segment_of(lot):
    """Batches one after the other, most of them right, and the offset after them."""
    from tests.protocol import kernel_cases as cases

    parts, offset = [], lot.choice((0, 3, 2**40))
    for _ in range(lot.choice((1, 2, 4, 9))):
        if lot.random() < 0.7:
            records = cases.records_of(lot, lot.choice((1, 2, 8, 40)))
            whole = cases.build_batch(records)
            data, header = whole[cases.HEADER_BYTES :], cases.parse_header(whole)
        else:
            data, header = cases.batch_of(lot) if lot.random() < 0.9 else _without_count(lot)
        attributes = lot.choice(
            (0, 0, 0, LOG_APPEND_TIME_BIT, CONTROL_BIT, TRANSACTIONAL_BIT, 3, 4, 4 | TRANSACTIONAL_BIT)
        )
        header = header._replace(attributes=attributes, producer_id=lot.choice(PRODUCERS))
        if lot.random() < 0.9:
            header = header._replace(base_offset=offset)
        if lot.random() < 0.03:
            header = header._replace(magic=lot.choice((0, 1, 3, -1)))
        parts.append(bytes(cases.whole_batch(data, header, lot)) if lot.random() < 0.1 else _right(data, header))
        offset += max(header.last_offset_delta, 0) + lot.choice((1, 1, 4))
    found = b"".join(parts)
    if lot.random() < 0.15:
        found = cases.spoil(found, lot)
    if lot.random() < 0.2:
        found += lot.randbytes(lot.randrange(1, 90))
    return found, offset


def _right(data, header):
    """A batch whose length and checksum are those of its bytes."""
    batch = HEADER.pack(*header._replace(batch_length=HEADER.size - LOG_OVERHEAD_BYTES + len(data))) + data
    return batch[:CRC_POSITION] + compute_crc(batch).to_bytes(4, "big") + batch[ATTRIBUTES_POSITION:]


def _without_count(lot):
    """A batch of one record that ends where the count of its headers should be."""
    from tests.protocol import kernel_cases as cases

    whole = cases.build_batch([Record(0, cases.NOW_MS, b"k", lot.randbytes(lot.randrange(3)))])
    return bytes((whole[cases.HEADER_BYTES] - 2,)) + whole[cases.HEADER_BYTES + 1 : -1], cases.parse_header(whole)


def target_of(lot):
    """A function that makes targets of one shape, alike to the byte."""
    capacity = lot.choice((0, 9, 60, 400, 400, 400))
    fields = [OFFSET, *(field for field in range(1, FIELDS) if field < HEADERS_START and lot.random() < 0.5)]
    fields += [HEADERS_START, HEADERS_LENGTH] if lot.random() < 0.5 else []
    slots = np.full(FIELDS, -1, np.int64)
    slots[fields] = lot.sample(range(len(fields)), len(fields))
    kinds = [(lot.choice(("none", "views", "copies")), lot.choice((5, 2_000, 1 << 18, 1 << 18))) for _ in range(2)]

    def make():
        places = []
        for kind, room in kinds:
            validity = np.full(capacity // 8 + 1, 255, np.uint8)
            if kind == "views":
                places += [np.zeros((capacity, 4), np.int32), None, validity]
            elif kind == "copies":
                places += [np.zeros(room, np.uint8), np.zeros(capacity + 1, np.int32), validity]
            else:
                places += [None, None, None]
        columns = np.zeros((len(fields), capacity), np.int64)
        return Target(capacity, columns, slots, *places, np.zeros(SUMS, np.int64))

    return make


def shown(target, row):
    """What a target has of its first rows."""
    found = [target.columns[:, :row].tolist(), target.sums.tolist()]
    for out, ends, validity in (
        (target.key, target.key_ends, target.key_validity),
        (target.value, target.value_ends, target.value_validity),
    ):
        if out is not None:
            found += [out[:row].tolist()] if ends is None else [ends[: row + 1].tolist(), out[: ends[row]].tobytes()]
            found.append(np.unpackbits(validity, bitorder="little")[:row].tolist())
    return found


def check_walk(kernel, lot):
    """Whole walks, resumed wherever they stop."""
    data, last = segment_of(lot)
    make = target_of(lot)
    targets = make(), make()
    lists = [np.zeros((lot.choice((1, 2, 5)), LISTED_FIELDS), np.int64)]
    lists.append(lists[0].copy())
    low, high = sorted(
        (
            lot.choice((0, 0, 0, lot.randrange(last + 1))),
            lot.choice((last + 9, last, last - 1, lot.randrange(last + 1))),
        )
    )
    aborted = sorted(
        (lot.choice(PRODUCERS), first, first + lot.randrange(30))
        for first in lot.sample(range(200), lot.choice((0, 1, 4)))
    )
    aborted = np.array(aborted, np.int64).reshape(-1, 3).T.copy()
    is_checked = lot.random() < 0.5
    position, row, end = 0, 0, lot.choice((*[len(data)] * 6, max(len(data) - 1, 0), lot.randrange(len(data) + 1)))
    for _ in range(STEPS_MAX):
        pause = min(position + lot.choice((1, 700, 2**40)), 2**62)
        found = [
            walker.walk_batches(data, position, end, pause, low, high, row, 3, is_checked, aborted, target, listed)
            for walker, target, listed in zip((kernel, python_walk), targets, lists, strict=True)
        ]
        assert found[0] == found[1], found
        position, row, outcome, count = found[0]
        assert lists[0][:count].tolist() == lists[1][:count].tolist()
        assert shown(targets[0], row) == shown(targets[1], row)
        for first in range(0, count, 3):
            row, is_right = _walk_some(kernel, data, lists, first, min(count, first + 3), low, high, row, targets)
            if not is_right:
                return
        if outcome not in (WALK_LISTED, WALK_PAUSED):
            break
    assert kernel.whole_end(data, 0, end, high) == python_walk.whole_end(data, 0, end, high)


def _walk_some(kernel, data, lists, first, last, low, high, row, targets):
    """Of what was listed; the bytes stand for what they would be decompressed to."""
    sources = []
    for position, size in lists[0][first:last, [LISTED_POSITION, LISTED_SIZE]].tolist():
        sources.append(data[position + 61 : position + size])
    found = [
        walker.walk_listed(sources, first, listed, low, high, row, 8, target)
        for walker, target, listed in zip((kernel, python_walk), targets, lists, strict=True)
    ]
    assert found[0] == found[1], found
    _walked, row, outcome = found[0]
    assert shown(targets[0], row) == shown(targets[1], row)
    if outcome in (WALK_FULL, WALK_ROOM):
        assert all(
            count * RECORD_BYTES_MIN <= len(data) for count in lists[0][first : first + 1, LISTED_COUNT].tolist()
        )
    return row, outcome == WALK_END


def check_headers(kernel, lot):
    """Headers of some records, added in two goes."""
    from tests.protocol import kernel_cases as cases

    blobs = []
    for _ in range(lot.choice((1, 3, 20))):
        headers = [
            (lot.randbytes(lot.choice((0, 3, 70))), cases.body_of(lot, 9)) for _ in range(lot.choice((0, 0, 1, 5)))
        ]
        blob = encode_varlong(len(headers)) + b"".join(
            encode_varlong(len(key)) + key + cases.body_bytes(value) for key, value in headers
        )
        blobs.append(cases.spoil(blob, lot) if lot.random() < 0.05 else blob)
    data = b"".join(blobs)
    lengths = np.array([len(blob) for blob in blobs], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    if lot.random() < 0.1:
        starts[lot.randrange(len(starts))] = lot.choice((-1, len(data), 2**62, -(2**62)))
    rows, cut = len(blobs), lot.randrange(len(blobs) + 1)
    outs = []
    for walker in (kernel, python_walk):
        ends, validity = np.zeros(rows + 1, np.int32), np.full(rows // 8 + 1, 255, np.uint8)
        key_ends, value_ends, value_validity = np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(1, 255, np.uint8)
        keys = values = np.zeros(0, np.uint8)
        told = []
        for first, last in ((0, cut), (cut, rows)):
            counted = walker.count_headers(data, starts, lengths, first, last)
            told.append(counted)
            if isinstance(counted, int):
                break
            headers, key_bytes, value_bytes = counted
            key_ends = np.concatenate([key_ends, np.zeros(headers, np.int32)])
            value_ends = np.concatenate([value_ends, np.zeros(headers, np.int32)])
            value_validity = np.concatenate([value_validity, np.full(headers // 8 + 1, 255, np.uint8)])
            keys = np.concatenate([keys, np.zeros(key_bytes, np.uint8)])
            values = np.concatenate([values, np.zeros(value_bytes, np.uint8)])
            given = (data, starts, lengths, ends, validity, keys, key_ends, values, value_ends, value_validity)
            told.append(walker.fill_headers(*given, first, last))
            if headers and (key_bytes or value_bytes):  # what was counted, and not a byte more, or an entry less
                short = (keys[:-1], key_ends) if key_bytes else (keys, key_ends[:-1])
                assert (
                    walker.fill_headers(
                        *(
                            one.copy() if isinstance(one, np.ndarray) else one
                            for one in (*given[:5], *short, *given[7:])
                        ),
                        first,
                        last,
                    )
                    == -1
                )
        bits = [
            np.unpackbits(one, bitorder="little")[:count].tolist()
            for one, count in ((validity, rows), (value_validity, len(value_ends) - 1))
        ]
        outs.append(
            (told, ends.tolist(), keys.tobytes(), key_ends.tolist(), values.tobytes(), value_ends.tolist(), bits)
        )
    assert outs[0] == outs[1]


def check_gather(kernel, lot):
    """Values from anywhere, into room that may be too small."""
    data = lot.randbytes(lot.choice((0, 1, 50, 3_000)))
    rows = lot.choice((0, 1, 8, 9, 60))
    lengths = np.array([lot.choice((-1, 0, 1, 12, lot.randrange(len(data) + 1))) for _ in range(rows)], np.int64)
    starts = np.array(
        [lot.randrange(len(data) - max(min(one, len(data)), 0) + 1) for one in lengths.tolist()], np.int64
    )
    if rows and lot.random() < 0.2:
        (starts if lot.random() < 0.5 else lengths)[lot.randrange(rows)] = lot.choice(
            (-7, len(data) + 1, 2**62, -(2**63), 2**63 - 1)
        )
    room = lot.choice((0, 40, 1 << 18))
    first = lot.randrange(rows + 1)
    outs = []
    for walker in (kernel, python_walk):
        out, ends, validity = (
            np.zeros(room, np.uint8),
            np.zeros(rows + 1, np.int32),
            np.full(rows // 8 + 1, 255, np.uint8),
        )
        nulls = walker.gather(data, starts, lengths, out, ends, validity, first, rows)
        outs.append((nulls, nulls >= 0 and (ends.tolist(), out[: ends[-1]].tobytes(), validity.tolist())))
    assert outs[0] == outs[1]


def check_substring(kernel, lot):
    """What Python's `in` says."""
    letters = bytes(lot.sample(range(256), lot.choice((1, 2, 20))))
    values = [bytes(lot.choices(letters, k=lot.choice((0, 1, 5, 63, 64, 65, 300)))) for _ in range(lot.randrange(40))]
    needle = bytes(lot.choices(letters, k=lot.choice((1, 2, 3, 9, 64, 70))))
    kind = lot.choice((np.int32, np.int64))
    ends = np.concatenate([[0], np.cumsum([len(value) for value in values])]).astype(kind)
    out = np.zeros(len(values), np.uint8)
    kernel.mark_substring(b"".join(values), ends, np.dtype(kind).itemsize, needle, out)
    assert out.tolist() == [needle in value for value in values]


NOTHING, BOOLEAN, NUMBER, FLOAT, DOUBLE, BYTES, ENUM, FIXED = range(8)


def check_flat_avro(kernel, lot):
    """Fields of random kinds, in bytes that are theirs, nearly theirs, or any."""
    from tests.protocol import kernel_cases as cases

    count, slots = lot.randrange(6), lot.choice((0, 1, 3))
    steps = [
        (lot.randrange(8), lot.choice((-1, -1, 0, 1)), lot.randrange(-1, slots), lot.choice((1, 3)), lot.randrange(2))
        for _ in range(count)
    ]
    records = []
    for _ in range(lot.choice((1, 2, 20))):
        blob = b"".join(_field(lot, *step) for step in steps)
        records.append(cases.spoil(blob, lot) if lot.random() < 0.4 else blob)
    skipped = lot.choice((0, 0, 5))
    records = [bytes(skipped) + record if lot.random() < 0.95 else record for record in records]
    ends = np.concatenate([[0], np.cumsum([len(record) for record in records])]).astype(np.int64)
    present = np.array([lot.random() < 0.9 for _ in records], np.uint8)
    numbers, lengths = np.zeros((slots, len(records)), np.int64), np.full((slots, len(records)), -1, np.int64)
    is_sound = np.zeros(len(records), np.uint8)
    table = np.array(steps, np.int64).reshape(-1, 5)
    kernel.walk_flat(b"".join(records), ends, present, skipped, table, numbers, lengths, is_sound)
    for row, record in enumerate(records):
        wanted = _decoded(record, skipped, steps) if present[row] else {}
        assert bool(is_sound[row]) == (wanted is not None)
        for slot in range(slots):
            number, length = (wanted or {}).get(slot, (None, -1))
            assert lengths[slot, row] == length
            if isinstance(number, bytes):
                at = int(numbers[slot, row])
                assert b"".join(records)[at : at + length] == number
            elif length >= 0:
                assert numbers[slot, row] == number


def _field(lot, kind, null_branch, _slot, size, is_int):
    if null_branch >= 0:
        branch = lot.choice((0, 1, 1 - null_branch, 1 - null_branch, lot.choice((2, -1, 1))))
        if branch == null_branch:
            return encode_varlong(branch)
        return encode_varlong(branch) + _field(lot, kind, -1, _slot, size, is_int)
    if kind in (NUMBER, ENUM):
        return encode_varlong(
            lot.choice((0, 1, 2, 3, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)))
        )
    if kind == BYTES:
        return encode_varlong(lot.choice((0, 2, 2, 5))) + lot.randbytes(lot.choice((0, 2, 2, 5)))
    return {NOTHING: b"", BOOLEAN: lot.choice((b"\0", b"\1", b"\2")), FIXED: lot.randbytes(size)}.get(
        kind, lot.randbytes(8 if kind == DOUBLE else 4)
    )


def _decoded(record, skipped, steps):
    """By slot what a record holds, as the specification says; None, where it is none of the schema."""
    from headrace.protocol.varint import read_varlong

    at, found = skipped, {}
    if skipped > len(record):
        return None
    try:
        for kind, null_branch, slot, size, is_int in steps:
            if null_branch >= 0:
                branch, at = read_varlong(record, at)
                if branch not in (0, 1):
                    return None
                if branch == null_branch:
                    continue
            value, length = 0, 0
            if kind in (NUMBER, ENUM, BYTES):
                value, at = read_varlong(record, at)
                if (kind == ENUM and not 0 <= value < size) or (is_int and not -(2**31) <= value < 2**31):
                    return None
            if kind in (BYTES, FIXED):
                length = size if kind == FIXED else value
                value, at = record[at : at + length] if length >= 0 else b"", at + length
                if length < 0 or at > len(record):
                    return None
            elif kind in (BOOLEAN, FLOAT, DOUBLE):
                length = {BOOLEAN: 1, FLOAT: 4, DOUBLE: 8}[kind]
                (value,) = struct.unpack_from({BOOLEAN: "<B", FLOAT: "<I", DOUBLE: "<q"}[kind], record, at)
                at += length
                if kind == BOOLEAN and value > 1:
                    return None
            if slot >= 0:
                found[slot] = (value, length)
    except (IndexError, ValueError, struct.error):
        return None
    return found if at == len(record) else None


def check_checksum(kernel, lot):
    """Each way gives what the library gives, wherever the data begins."""
    sizes = (
        0,
        1,
        7,
        8,
        9,
        191,
        192,
        193,
        767,
        768,
        769,
        1023,
        1024,
        1279,
        1280,
        1343,
        1344,
        3072,
        lot.randrange(15_000),
    )
    data = memoryview(lot.randbytes(lot.choice(sizes) + 64))[lot.randrange(64) :]
    value = lot.choice((0, 0, 0xFFFFFFFF, lot.getrandbits(32)))
    right = crc32c(data, value)
    assert set(kernel.crc32c_ways(data, value)) == {right}
    assert kernel.crc32c(data, value) == right
    assert kernel.crc32c(data) == crc32c(data)


JSON_NAMES, JSON_FIELDS = b"anskd", [(2, 64), (2, 8), (0, 64), (1, 64), (3, 64)]  # of a letter each; kind, bits
JSON_KINDS = {"a": int, "n": int, "s": str, "k": bool, "d": (int, float)}
JSON_VALUES = (
    *(
        "0",
        "-5",
        "127",
        "128",
        "12345678901234567",
        "0.25",
        "1e2",
        "-0",
        "true",
        "false",
        "null",
        '"x"',
        '"of more than eight bytes"',
    ),
    *('"\\n"', "[1, {}]", '{"a": [null]}', "x", '"', ""),
)


def check_flat_json(kernel, lot):
    """Objects of random fields, in bytes that are theirs, nearly theirs, or any: what is sound is what json reads, and of the types."""
    from tests.protocol import kernel_cases as cases

    records = []
    for _ in range(lot.choice((1, 2, 20))):
        parts = [f'"{lot.choice("anskdx")}": {lot.choice(JSON_VALUES)}' for _ in range(lot.randrange(4))]
        blob = f"{{{lot.choice((',', ', ')).join(parts)}}}".encode()
        records.append(cases.spoil(blob, lot) if lot.random() < 0.4 else blob)
    slots, data = len(JSON_FIELDS), b"".join(records)
    ends = np.concatenate([[0], np.cumsum([len(record) for record in records])]).astype(np.int64)
    present = np.array([lot.random() < 0.9 for _ in records], np.uint8)
    numbers, lengths = np.zeros((slots, len(records)), np.int64), np.full((slots, len(records)), -1, np.int64)
    is_sound = np.zeros(len(records), np.uint8)
    fields = np.array([(*field, slot + 1) for slot, field in enumerate(JSON_FIELDS)], np.int64)
    kernel.walk_json(data, ends, present, JSON_NAMES, fields, numbers, lengths, is_sound)
    for row, record in enumerate(records):
        wanted = json.loads(record.decode("utf-8", "replace")) if is_sound[row] and present[row] else {}
        assert is_sound[row] or not present[row] or record != b"{}"
        for slot, name in enumerate(JSON_NAMES.decode()):
            value = wanted.get(name)
            assert (lengths[slot, row] < 0) == (value is None)
            if value is None:
                continue
            assert isinstance(value, JSON_KINDS[name])
            number = int(numbers[slot, row])
            if name == "s":
                assert data[number : number + int(lengths[slot, row])].decode("utf-8", "replace") == value
            else:
                assert (numbers[slot, row : row + 1].view(np.float64)[0] if name == "d" else number) == value


CHECKS = (
    check_walk,
    check_walk,
    check_headers,
    check_gather,
    check_substring,
    check_flat_avro,
    check_flat_json,
    check_checksum,
)
