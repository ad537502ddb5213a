"""Where every shared word lies: offsets only, no behaviour.

All words are 8 bytes, aligned, native. A line is 128 bytes (two cache lines: the prefetcher pulls them in
pairs), so that words with different writers never share one.

    every region   0    MAGIC
                   8    LAYOUT_VERSION
                   16   size in bytes
                   24   generation of the creation
                   32.. reserved
                   128  body

    ring body      0    tail   (writer)   bytes ever published
                   128  head   (reader)   bytes ever released
                   256  data   capacity bytes, a power of two

    ring message   0    length (u32) | kind (u32)     one word; kind 0 is padding up to the end of the data
    area
                   8    body, padded to 8

    process row    0    supervisor's words: generation, pid, starts, exit code
                   128  own words: parked, heartbeat ns, state
                   256  own counters (COUNTER_WORDS)

    partition row  0    sequence (odd while being written), then 31 words
    wait row       NETWORK_WORKERS_MAX bytes, byte n written by network worker n

    view body      0    version, active buffer, length, crc32 (one line)
                   128  buffer 0, then buffer 1
"""

from __future__ import annotations

from headrace.limits import NETWORK_WORKERS_MAX, PARTITION_ROW_WORDS

WORD = 8
LINE = 128

MAGIC = 0x3145434152444845  # "EHDRACE1" as it lies in memory
LAYOUT_VERSION = 1
HEADER_MAGIC = 0
HEADER_VERSION = 1
HEADER_SIZE = 2
HEADER_GENERATION = 3
HEADER_BYTES = LINE

RING_TAIL = HEADER_BYTES
RING_HEAD = RING_TAIL + LINE
RING_DATA = RING_HEAD + LINE
MESSAGE_HEADER_BYTES = WORD
KIND_PADDING = 0

PROCESS_EPOCH = HEADER_BYTES
PROCESS_CLEAN_STOP = PROCESS_EPOCH + WORD
PROCESS_ROWS = HEADER_BYTES + LINE
PROCESS_GENERATION = 0
PROCESS_PID = 1
PROCESS_STARTS = 2
PROCESS_EXIT_CODE = 3
PROCESS_PARKED = LINE // WORD
PROCESS_HEARTBEAT = PROCESS_PARKED + 1
PROCESS_STATE = PROCESS_PARKED + 2
PROCESS_COUNTERS = 2 * LINE // WORD
COUNTER_WORDS = 48
PROCESS_ROW_WORDS = PROCESS_COUNTERS + COUNTER_WORDS

PARTITION_ROWS = HEADER_BYTES
PARTITION_ROW_BYTES = PARTITION_ROW_WORDS * WORD
WAIT_ROW_BYTES = NETWORK_WORKERS_MAX

VIEW_VERSION = HEADER_BYTES // WORD
VIEW_ACTIVE = VIEW_VERSION + 1
VIEW_LENGTH = VIEW_VERSION + 2
VIEW_CRC = VIEW_VERSION + 3
VIEW_BUFFERS = HEADER_BYTES + LINE

assert RING_DATA % LINE == 0
assert (PROCESS_ROW_WORDS * WORD) % LINE == 0
assert PARTITION_ROW_BYTES % LINE == 0
assert WAIT_ROW_BYTES % WORD == 0


def ring_region_bytes(capacity: int) -> int:
    """Size of the region that holds a ring of `capacity` data bytes."""
    assert capacity & (capacity - 1) == 0
    return RING_DATA + capacity


def process_region_bytes(process_count: int) -> int:
    return PROCESS_ROWS + process_count * PROCESS_ROW_WORDS * WORD


def partition_region_bytes(rows: int) -> int:
    return PARTITION_ROWS + rows * (PARTITION_ROW_BYTES + WAIT_ROW_BYTES)


def view_region_bytes(buffer_bytes: int) -> int:
    return VIEW_BUFFERS + 2 * buffer_bytes
