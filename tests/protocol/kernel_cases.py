"""Bytes for the record kernel and the Python walkers alike: batches and sets as they are written, then spoilt, one way or several.

    python -m tests.protocol.kernel_cases --cases 1000000 [--seed 7] [--sanitized]

runs that many cases through both, each function for each case; --sanitized with a kernel that reports what C leaves undefined
(`headrace.kernel_build --sanitized`), in a process of its own with the sanitizer's library before all others.
"""

import argparse
import logging
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from headrace import kernel_build
from headrace.compiled_core import open_extension
from headrace.compiled_kernel import MODULE
from headrace.errors import KafkaError
from headrace.limits import (
    COMPRESSED_MEMBERS_MAX,
    DECOMPRESSED_BYTES_MAX,
    OPENED_RECORDS_MAX,
    PLAIN_WHOLE_RECORDS_MAX,
    RECORD_ERRORS_MAX,
)
from headrace.protocol import (
    codec_frames,
    conversion,
    message_set,
    plain_records,
    record_batch,
    record_scan,
    record_search,
)
from headrace.protocol.compression import Codec, CompressionError
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    CorruptRecord,
    Record,
    build_batch,
    compute_crc,
    parse_header,
)
from headrace.protocol.varint import encode_varlong
from headrace.workers.network.produce import plain_admission
from tests.arrow import walk_cases
from tests.log import follower_cases
from tests.protocol import builder_cases
from tests.support import codec_forms

ROOT = Path(__file__).resolve().parent.parent.parent
NOW_MS = 1_700_000_000_000
TIMES = (0, -1, NOW_MS, NOW_MS + 3_600_000, 2**62, 2**63 - 1, -(2**63), 2**63 - 2, -(2**62) - 1)
COUNTS = (0, 1, 1, 2, 3, 8, 31, 32, 33, 64, 150, 700)
OVERLONG = (
    b"\x80" * 9 + b"\x01",  # 64 bits
    b"\xff" * 9 + b"\x01",
    b"\x80" * 9 + b"\x02",  # 65
    b"\x80" * 9 + b"\x7e",
    b"\x80" * 10 + b"\0",
    b"\xff" * 10,
    b"\x80\x00",  # more bytes than it needs
    b"\x81\x80\x00",
)
FORMS = list({**codec_forms.USUAL, **codec_forms.READ, **codec_forms.UNSEEN, **codec_forms.OURS}.values())
ARGUED = (CorruptRecord, CompressionError, KafkaError, ArithmeticError, ValueError, AssertionError, struct.error)


def build(directory, flags=kernel_build.FLAGS):
    """The kernel of the sources as they are. raises BuildFailed, where there is no compiler"""
    library = Path(directory) / f"{MODULE}.so"
    kernel_build.link(ROOT, library, flags)
    return open_extension(MODULE, str(library))


@contextmanager
def walking(kernel):
    """The walkers of protocol/ with the functions of a kernel; None: in Python."""
    named = {
        record_scan: {"_scan": "scan_records"},
        plain_records: {"_scan": "scan_plain"},
        plain_admission: {"_is_plain": "is_plain"},
        record_batch: {"_list_records": "list_records"},
        record_search: {"_find": "find_record"},
        conversion: {"_to_old_messages": "to_old_messages", "_to_records": "to_records"},
    }
    before = {(module, name): getattr(module, name) for module, names in named.items() for name in names}
    try:
        for module, names in named.items():
            for name, function in names.items():
                setattr(module, name, getattr(kernel, function) if kernel else None)
        yield
    finally:
        for (module, name), function in before.items():
            setattr(module, name, function)


def outcome(call):
    """What a call gave: ("gave", value) or ("raised", class)."""
    try:
        return "gave", call()
    except ARGUED as failure:
        return "raised", type(failure)


def both(kernel, call):
    """Outcomes by the kernel and in Python."""
    with walking(kernel):
        first = outcome(call)
    with walking(None):
        return first, outcome(call)


def body_of(lot, largest=60):
    kind = lot.random()
    if kind < 0.2:
        return None
    size = lot.choice((0, 1, 7, 8, 63, 64, 127, 128, 300)) if kind < 0.7 else lot.randrange(largest)
    return lot.randbytes(min(size, largest * 5))


def records_of(lot, count, *, is_old=False):
    """Records of a kind that a client may send, or few would."""
    base_ms, step = lot.choice(TIMES), lot.choice((0, 0, 1, -7, 40, 100_000, 2**40))
    gap = lot.choice((1, 1, 1, 3, 9_000)) if lot.random() < 0.3 else 1
    made = []
    for index in range(count):
        headers = ()
        if not is_old and lot.random() < 0.1:
            headers = tuple((lot.choice(("", "name", "ж")), body_of(lot, 9)) for _ in range(lot.randrange(4)))
        time_ms = max(-(2**63), min(2**63 - 1, base_ms + step * index))
        made.append(Record(gap * index, time_ms, body_of(lot), body_of(lot), headers))
    return made


def spoil(data, lot):
    """Bytes changed, cut, put in, or exchanged for a varint that has no end."""
    changed = bytearray(data)
    for _ in range(lot.choice((1, 1, 1, 2, 4))):
        place = lot.randrange(len(changed) + 1)
        way = lot.randrange(8)
        if way == 0:
            del changed[place:]
        elif way == 1:
            changed[place:place] = lot.randbytes(lot.randrange(1, 4))
        elif way == 2:
            del changed[place : place + lot.randrange(1, 4)]
        elif way == 3:
            changed[place : place + 1] = lot.choice(OVERLONG)
        elif way == 4:
            changed[place : place + 1] = encode_varlong(lot.choice((-1, -2, 2**31, 2**62, -(2**63), 2**63 - 1, 70)))
        elif place < len(changed):
            changed[place] = lot.randrange(256) if way == 5 else changed[place] ^ 1 << lot.randrange(8)
    return bytes(changed)


def body_with_a_lie(records, lot):
    """What comes after a batch's header, where a field of one record is another than it should be, and its length agrees or not."""
    base_ms = records[0].timestamp_ms
    liar, lie = lot.randrange(len(records)), lot.randrange(10)
    out = []
    for index, (offset, time_ms, key, value, headers) in enumerate(records):
        sizes = [-1 if one is None else len(one) for one in (key, value)]
        delta, count, tail, attributes = time_ms - base_ms, len(headers), b"", b"\0"
        if index == liar:
            step = lot.choice((-2, -1, 1, 2, 64, 8192, 2**31, 2**62))
            if lie < 2:
                sizes[lie] = max(-(2**63), sizes[lie] + step)
            elif lie == 2:
                offset += step
            elif lie == 3:
                delta = lot.choice((-(2**63), 2**63 - 1, -1, 2**33))
            elif lie == 4:
                count += step
            elif lie == 5:
                tail = lot.randbytes(lot.choice((1, 1, 2, 5)))
            elif lie == 6:
                attributes = lot.randbytes(1)
        named = [(name.encode(), content) for name, content in headers]
        body = b"".join(
            (
                attributes,
                encode_varlong(delta),
                lot.choice(OVERLONG) if index == liar and lie == 7 else encode_varlong(offset),
                *(encode_varlong(sizes[0]), key or b"", encode_varlong(sizes[1]), value or b"", encode_varlong(count)),
                *(encode_varlong(len(name)) + name + body_bytes(content) for name, content in named),
                tail,
            )
        )
        if index == liar and lie == 9:
            body = body[: lot.randrange(7)]
        out += (encode_varlong(len(body) + (lot.choice((-1, 1)) if index == liar and lie == 8 else 0)), body)
    return b"".join(out)


def body_bytes(content):
    return encode_varlong(-1) if content is None else encode_varlong(len(content)) + content


def batch_of(lot):
    """(records of a batch of v2, its header): right, or not at all."""
    records = records_of(lot, lot.choice(COUNTS))
    attributes = LOG_APPEND_TIME_BIT if lot.random() < 0.2 else 0
    base_offset = lot.choice((0, 0, 5, 2**40, 2**63 - 1, -3))
    batch = build_batch(records, base_offset=base_offset, attributes=attributes)
    data, header = batch[HEADER_BYTES:], parse_header(batch)
    kind = lot.random()
    if kind < 0.3:
        data = spoil(data, lot)
    elif kind < 0.7 and records and abs(records[-1].timestamp_ms - records[0].timestamp_ms) < 2**63:
        data = body_with_a_lie(records, lot)
    if lot.random() < 0.15:
        header = header._replace(record_count=header.record_count + lot.choice((-1, 1, 5, -200, 2**31 - 701)))
    if lot.random() < 0.1:
        header = header._replace(last_offset_delta=lot.choice((-1, 0, 3, 2**31 - 1)))
    if lot.random() < 0.1:
        header = header._replace(base_timestamp=lot.choice(TIMES))
    return data, header


def check_batch(kernel, lot):
    """Every function that reads records of v2."""
    data, header = batch_of(lot)
    scanned, walked = both(kernel, lambda: record_scan.scan_records(data, header))
    assert scanned == walked
    found = kernel.scan_records(data, header.record_count, RECORD_ERRORS_MAX)
    assert (found is None) == (walked[0] == "raised")
    scanned, walked = both(kernel, lambda: plain_records.scan_plain(data, header.record_count))
    assert scanned == walked
    found = kernel.scan_plain(data, header.record_count, PLAIN_WHOLE_RECORDS_MAX, plain_records.FIRST_RECORDS)
    assert (found is None) == (walked[0] == "raised")

    def read():
        whole = []
        try:
            for record in record_batch.read_records(data, header):
                whole.append(record)
        except CorruptRecord:
            return whole, CorruptRecord
        return whole, None

    with walking(kernel):
        listed = read()
    with walking(None):
        assert listed == read()
    check_search(kernel, data, header, lot)
    builder_cases.check_listing(kernel, data, header, lot)
    check_admission(kernel, data, header, lot)
    check_down(kernel, data, header, lot)


def check_search(kernel, data, header, lot):
    """The first record of a time, from anywhere on, in a piece or in all of it."""
    start = lot.choice((0, 0, lot.randrange(len(data) + 9)))
    piece = data[: lot.randrange(len(data) + 1)] if lot.random() < 0.5 else data
    time = lot.choice((-(2**63), 0, 1, 40, 2**62, 2**63 - 1, lot.randrange(100_000)))
    offset = lot.choice((0, 0, 1, lot.randrange(40), 2**31 - 1))
    given = (piece, start, header.record_count, time, offset, header.last_offset_delta, lot.random() < 0.5)
    found, walked = both(kernel, lambda: record_search.find_record(*given))
    assert found == walked
    assert (kernel.find_record(*given) is None) == (walked[0] == "raised")


def whole_batch(data, header, lot):
    batch = bytearray(record_batch.HEADER.pack(*header) + data)
    if lot.random() < 0.9:
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    if lot.random() < 0.9:
        batch[CRC_POSITION:ATTRIBUTES_POSITION] = compute_crc(batch).to_bytes(4, "big")
    return batch


def check_admission(kernel, data, header, lot):
    """What the kernel says is plain, the Python walker leaves as it is."""
    batch = whole_batch(data, header, lot)
    before = bytes(batch)
    is_plain = kernel.is_plain(memoryview(batch), PLAIN_WHOLE_RECORDS_MAX, plain_records.FIRST_RECORDS)
    by_kernel, in_python = bytearray(batch), bytearray(batch)
    with walking(None):
        walked = outcome(lambda: plain_admission.check_plain(memoryview(in_python)))
    with walking(kernel):
        assert outcome(lambda: plain_admission.check_plain(memoryview(by_kernel))) == walked
    assert by_kernel == in_python
    if is_plain:
        assert walked == ("gave", None)
        assert in_python == before


def check_frames(kernel, lot):
    """The structure of a codec's frame, spoilt mostly where it begins or ends."""
    codec, data = lot.choice(FORMS)
    data = bytearray(
        data if lot.random() < 0.7 else data[: lot.choice((20, 60, 300))] + data[-lot.choice((1, 8, 20)) :]
    )
    for _ in range(lot.randrange(4)):
        place = lot.randrange(len(data) + 1) if lot.random() < 0.5 else lot.randrange(min(len(data) + 1, 30))
        way = lot.randrange(5)
        if way == 0:
            del data[place:]
        elif way == 1:
            data[place:place] = lot.randbytes(lot.randrange(4))
        elif way == 2:
            data[place : place + 4] = lot.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\1\0\0\0"))
        elif place < len(data):
            data[place] = lot.randrange(256) if way == 3 else data[place] ^ 1 << lot.randrange(8)
    batch = codec_forms.batch_of(codec, bytes(data))
    if lot.random() < 0.2:
        batch[57:61] = lot.choice((0, 1, -1, 10**5, 2**31 - 1)).to_bytes(4, "big", signed=True)
    most, members_max = lot.choice((DECOMPRESSED_BYTES_MAX, len(codec_forms.BODY))), COMPRESSED_MEMBERS_MAX
    assert kernel.usual_frame(batch, most, members_max) == codec_frames.is_usual(memoryview(batch), most)


def check_down(kernel, data, header, lot):
    codec = lot.choice((Codec.NONE, Codec.NONE, Codec.NONE, Codec.SNAPPY, Codec.LZ4))  # gzip's has the time in it
    whole = whole_batch(record_batch.compress(codec, data), header._replace(attributes=header.attributes | codec), lot)
    first = min(lot.choice((0, 1, header.base_offset, header.base_offset + 2, header.base_offset + 10**6)), 2**63 - 1)
    magic = lot.randrange(2)
    converted, walked = both(kernel, lambda: conversion.convert_down(whole, magic, first, 1 << 30))
    assert converted == walked, (converted, walked)


def check_set(kernel, lot):
    """What makes records of v2 of messages."""
    records = records_of(lot, max(1, lot.choice(COUNTS)), is_old=True)
    magic = lot.randrange(2)
    codec = lot.choice((Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4))
    data = build_message_set(records, magic, codec, is_append_time=lot.random() < 0.2)
    if lot.random() < 0.5:
        data = spoil(data, lot) if lot.random() < 0.5 else message_with_a_lie(data, lot)
        if lot.random() < 0.7:
            data = with_right_checksums(data)
    append_ms = lot.choice((None, None, NOW_MS))
    upgraded, walked = both(kernel, lambda: conversion.upgrade_set(memoryview(data), append_time_ms=append_ms))
    assert upgraded == walked
    if codec == Codec.NONE and data:
        found = kernel.to_records(
            data, data[16] if len(data) > 16 else 0, append_ms, OPENED_RECORDS_MAX, RECORD_ERRORS_MAX
        )
        assert found is not None or walked[0] == "raised" or step_is_beyond(data) or data[17] & 7


def message_with_a_lie(data, lot):
    """A set in which the size of one message, of its key or of its value is another, or in which it has bytes more."""
    places = [(position, size, magic) for position, size, magic in message_set.iterate_entries(data)]
    position, size, magic = lot.choice(places)
    changed = bytearray(data)
    at = {"size": position + 8, "key": position + (26 if magic else 18)}
    key_bytes = max(0, int.from_bytes(changed[at["key"] : at["key"] + 4], "big", signed=True))
    at["value"] = at["key"] + 4 + key_bytes
    place = at[lot.choice(("size", "key", "value"))]
    more = lot.choice((-2, -1, 1, 2, 2**20))
    if lot.random() < 0.4:
        place, more = at["size"], lot.randrange(1, 5)
        changed[position + size : position + size] = lot.randbytes(more)
    told = int.from_bytes(changed[place : place + 4], "big", signed=True) + more
    changed[place : place + 4] = max(-(2**31), told).to_bytes(4, "big", signed=True)
    return bytes(changed)


def with_right_checksums(data):
    """So that the lengths are what is wrong."""
    changed, position = bytearray(data), 0
    while position + 26 <= len(changed):
        size = int.from_bytes(changed[position + 8 : position + 12], "big", signed=True) + 12
        if size < 17 or position + size > len(changed):
            break
        crc = record_crc(changed[position + 16 : position + size])
        changed[position + 12 : position + 16] = crc.to_bytes(4, "big")
        position += size
    return bytes(changed)


def record_crc(data):
    import zlib

    return zlib.crc32(data)


def step_is_beyond(data):
    """Two timestamps with 64 bits or more between them: the walker encodes what no reader takes."""
    times = [message.timestamp_ms for message in conversion.read_messages(data)]
    return max(abs(time_ms - times[0]) for time_ms in times) >= 2**63


def check_columns(kernel, lot):
    """Columns of several batches at once."""
    import numpy as np

    from headrace.log.compaction import record_columns

    bodies = [batch_of(lot) for _ in range(lot.choice((1, 2, 5, 80)))]
    data = np.frombuffer(b"".join([*(body for body, _header in bodies), bytes(record_columns.PADDING_BYTES)]), np.uint8)
    ends = np.cumsum(np.array([len(body) for body, _header in bodies], np.int64))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    counts = np.array([header.record_count for _body, header in bodies], np.int64)
    if counts.sum() > 100_000:
        return
    found = []
    for function in (kernel.fill_columns, None):
        before, record_columns._fill_columns = record_columns._fill_columns, function
        try:
            found.append(outcome(lambda: record_columns.walk_lanes(data, starts, ends, counts)))
        finally:
            record_columns._fill_columns = before
    (how, columns), (how_walked, walked) = found
    assert how == how_walked
    if how == "gave":
        assert all(np.array_equal(one, other) for one, other in zip(columns, walked, strict=True))


def check_compaction(kernel, lot):
    """Hashes of keys, the map of their offsets, and what is left of batches."""
    import numpy as np

    from headrace.log.compaction import batch_cleaner, offset_map, record_columns

    count = lot.choice((1, 5, 60))
    batches = []
    for _ in range(lot.choice((1, 3))):
        rows = records_of(lot, count)
        if lot.random() < 0.1:
            rows[-1] = rows[-1]._replace(key=lot.randbytes(lot.choice((255, 256, 257, 700))))
        batch = memoryview(build_batch(rows))
        batches.append((parse_header(batch), batch))
    (lanes,) = batch_cleaner.decode(batches, 1 << 30)
    keyed = np.nonzero(lanes.columns.key_length >= 0)[0]
    starts, lengths = lanes.columns.key_start[keyed], lanes.columns.key_length[keyed]
    stays = np.array([lot.random() < 0.6 for _ in range(len(lanes.columns.lane))], bool)
    stays[0] = True  # of nothing there is no batch
    horizon_ms = lot.choice((None, NOW_MS, 2**63 - 1))
    slots = lot.choice((7, 13, 1021))
    by_hand = np.array([lot.randrange(20) for _ in range(60)], np.uint64)
    put = lot.randrange(1, min(len(by_hand), slots))
    modules = (
        (record_columns, "_hash_keys", kernel.hash_keys),
        (offset_map, "_put_offsets", kernel.put_offsets),
        (offset_map, "_get_offsets", kernel.get_offsets),
        (batch_cleaner, "_kept_records", kernel.kept_records),
    )
    before = [getattr(module, name) for module, name, _function in modules]
    found = []
    try:
        for is_compiled in (True, False):
            for module, name, function in modules:
                setattr(module, name, function if is_compiled else None)
            hashes = [one.tolist() for one in record_columns.hash_keys(lanes.data, starts, lengths)]
            table = offset_map.OffsetMap(0, 1.0)
            table._slots = np.uint64(slots)
            table.keys_max = slots
            table._first, table._second = np.zeros(slots, np.uint64), np.zeros(slots, np.uint64)
            table._offsets = np.zeros(slots, np.int64)
            if put <= table.room:
                table.put(by_hand[:put], by_hand[:put] // np.uint64(3), np.arange(put))
            offsets = table.get(by_hand, by_hand // np.uint64(3)).tolist()
            header = lanes.batches[0][0]
            body = batch_cleaner._body_of(lanes, header, stays, 0, header.record_count, horizon_ms)
            found.append((hashes, len(table), offsets, body))
    finally:
        for (module, name, _function), function in zip(modules, before, strict=True):
            setattr(module, name, function)
    assert found[0] == found[1]


def offset_key(lot):
    """A key of `__consumer_offsets`, or one that is nearly so."""
    group, topic = lot.choice((b"", b"g", b"group")), lot.choice((b"", b"t", b"topic"))
    version = lot.choice((0, 1, 1, 1, 1, 2, 3))
    key = struct.pack(">hh", version, len(group)) + group
    if version != 2:
        key += struct.pack(">h", len(topic)) + topic + struct.pack(">i", lot.randrange(3))
    if lot.random() < 0.05:
        key = spoil(key, lot) if lot.random() < 0.5 else None
    return key


def check_load(kernel, lot):
    """What a load of `__consumer_offsets` knows after some batches."""
    from headrace.workers.coordinators.group import loader

    batches = []
    for _ in range(lot.choice((1, 3))):
        rows = [Record(0, NOW_MS, offset_key(lot), body_of(lot)) for _ in range(lot.choice((1, 4, 40)))]
        batch = bytearray(build_batch(row._replace(offset=index) for index, row in enumerate(rows)))
        if lot.random() < 0.4:
            header = parse_header(batch)
            batch = whole_batch(spoil(batch[HEADER_BYTES:], lot), header, lot)
            batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
            batch[CRC_POSITION:ATTRIBUTES_POSITION] = compute_crc(batch).to_bytes(4, "big")
        batches.append(batch)
    before, found = loader._load_offsets, []
    try:
        for loader._load_offsets in (kernel.load_offsets, None):
            load = loader.Loader("part-0")
            for batch in batches:
                load.take(parse_header(batch), memoryview(batch))
            found.append((load._offsets, load._suffixes, load._groups, load.records, load.faults))
    finally:
        loader._load_offsets = before
    assert found[0] == found[1], found


CHECKS = (
    *(
        check_batch,
        check_batch,
        check_frames,
        check_set,
        check_columns,
        check_compaction,
        check_load,
        builder_cases.check_builder,
        builder_cases.check_builder,
        builder_cases.check_hash,
        builder_cases.check_spread,
        follower_cases.check_follower,
    ),
    *walk_cases.CHECKS,
)


def run_case(kernel, seed, check):
    """One case; a failure names the seed."""
    try:
        check(kernel, random.Random(seed))
    except Exception as failure:
        failure.add_note(f"seed {seed} of {check.__name__}")
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--sanitized", action="store_true")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if given.sanitized and "LD_PRELOAD" not in os.environ:
        command = [sys.executable, "-m", "tests.protocol.kernel_cases", *sys.argv[1:]]
        return subprocess.run(command, env=sanitized_environment()).returncode
    with tempfile.TemporaryDirectory(prefix="headrace-kernel-") as directory:
        kernel = build(directory, kernel_build.SANITIZED_FLAGS if given.sanitized else kernel_build.FLAGS)
        print(f"seed {given.seed}", flush=True)
        for number in range(given.cases):
            run_case(kernel, given.seed + number, CHECKS[number % len(CHECKS)])
            if number % 5_000 == 4_999:
                print(f"{number + 1} cases", flush=True)
    print(f"{given.cases} cases, the kernel and the Python walkers agree")
    return 0


def sanitized_environment():
    """The sanitizer's library goes before the interpreter's; what the interpreter never frees is not looked for."""
    compiler = kernel_build.compiled_build.c_compiler()
    library = subprocess.run([*compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    options = "detect_leaks=0:allocator_may_return_null=1"
    return {**os.environ, "LD_PRELOAD": library.stdout.strip(), "ASAN_OPTIONS": options, "PYTHONMALLOC": "malloc"}


if __name__ == "__main__":
    sys.exit(main())
