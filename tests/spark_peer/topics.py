"""The records that both sides hold: codecs, headers, times, partitions of all sizes, compacted, stamped by the broker, with a head deleted.

clicks      4 partitions of 300, 120, 37 and 0 records, another codec for each batch of records; headers on every fifth
a.clicks    2 partitions of 20
times       3 partitions: in order, out of order and repeated, empty
odd         records that are awkward in every way a record can be
stamped     LogAppendTime
compacted   2 partitions, of which the latest record of each key is left
trimmed     2 partitions of 100, of the first one 40 deleted
empty       3 partitions
late        a record whose time overflows Spark's timestamp
"""

from tests.interop.kafka_log import CODECS, RECORDS
from tests.support.waiting import wait_until

T0 = 1_700_000_000_000
COMPACTED_KEYS = 17
COMPACTED_RECORDS = 200
TRIMMED_TO = 40
CLICKS = (300, 120, 37, 0)
OVERFLOWING_MS = 1_795_200_000_000_000_000  # a producer that writes nanoseconds


def click(partition, number):
    """A record of `clicks`."""
    headers = [("trace", b"%d" % number), ("empty", b""), ("none", None), ("trace", b"2")] if number % 5 == 0 else []
    value = b'{"page": "/p%d", "ms": %d}' % (number % 7, number)
    return b"user %d" % (number % 11), value, T0 + 1000 * number + partition, headers


def fill(pair):
    """Create and write all of them; returns when the cleaner has been there."""
    pair.create("clicks", 4)
    for partition, count in enumerate(CLICKS):
        for number, codec in enumerate(CODECS):
            part = range(number * count // 5, (number + 1) * count // 5)
            pair.write("clicks", partition, [click(partition, one) for one in part], codec)
    pair.create("a.clicks", 2)
    for partition in range(2):
        pair.write("a.clicks", partition, [click(partition, number) for number in range(20)], "zstd")
    pair.create("times", 3)
    pair.write("times", 0, [(b"k", b"%d" % number, T0 + 100 * number) for number in range(50)])
    shuffled = [T0 + 100 * (number * 7 % 50 // 3) for number in range(50)]  # several records share a time
    pair.write("times", 1, [(b"k", b"%d" % number, time) for number, time in enumerate(shuffled)])
    pair.create("odd", 1)
    for codec in CODECS:
        pair.write("odd", 0, [(key, value, T0, headers) for key, value, headers in RECORDS], codec)
    pair.create("stamped", 2, message_timestamp_type="LogAppendTime")
    for partition in range(2):
        pair.write("stamped", partition, [(b"k", b"%d" % number, T0) for number in range(40)], CODECS[partition])
    _fill_compacted(pair)
    pair.create("trimmed", 2)
    for partition in range(2):
        pair.write("trimmed", partition, [(b"k", b"%d" % number, T0 + number) for number in range(100)])
    pair.trim("trimmed", 0, TRIMMED_TO)
    pair.create("empty", 3)
    pair.create("late", 1)
    pair.write("late", 0, [(b"k", b"v", T0), (b"k", b"v", OVERFLOWING_MS)])


def _fill_compacted(pair):
    """The last record of each partition is in a segment of its own, so that what is below it is compacted whole."""
    config = {
        "cleanup_policy": "compact", "segment_ms": 1000, "min_cleanable_dirty_ratio": 0.01,
        "delete_retention_ms": 24 * 3_600_000,
    }  # fmt: skip
    pair.create("compacted", 2, **config)
    for partition in range(2):
        for number, codec in enumerate(CODECS):
            part = range(number * COMPACTED_RECORDS // 5, (number + 1) * COMPACTED_RECORDS // 5)
            pair.write("compacted", partition, [_keyed(one) for one in part], codec)
        pair.write("compacted", partition, [(b"last", b"", T0 + 60_000)])
    for side in pair.sides.values():
        wait_until(lambda side=side: _held(side) == 2 * (COMPACTED_KEYS + 1), f"{side.format}: compaction")


def _keyed(number):
    key = number % COMPACTED_KEYS
    return b"%d" % key, None if key == 7 else b"v%d" % number, T0 + number % 10


def _held(side):
    from tests.interop.kafka_log import read  # partition 0 alone

    return 2 * len(read(side.bootstrap, "compacted"))
