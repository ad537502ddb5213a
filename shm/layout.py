"""Where every shared word lies: offsets only, no behaviour.

All words are 8 bytes, aligned, native. A line is 128 bytes (two cache lines: the prefetcher pulls them in
pairs), so that busy words with different writers never share one. Numbers are bytes from the start of the
region, of the row or of the message:

    every region     0  MAGIC                 stored last by the creator
                     8  LAYOUT_VERSION
                    16  size in bytes         of the whole region, a multiple of the page
                    24  boot id               as a number
                    32  generation            rings: of the writer << 32 | of the reader; an arena: of its process, twice; others 0
                   128  body

    ring           128  tail                  writer: bytes ever published
                   256  head                  reader: bytes ever released
                   384  data                  capacity bytes, a power of two

    arena          384  data                  a network worker, then the partition worker that it was notified of, by places

    ring message     0  length u32 | kind u32 one word; kind 0 pads to the end of the data
                     8  body                  padded to 8

    processes      128  epoch, clean stop,    supervisor
                        leaving, steady date  (steady_date.py)
                   256  row of process 0, row of process 1, ...

    process row      0  generation, pid, starts, exit code    supervisor
                   128  parked, heartbeat ns, state, offline  the process; the fourth: a bit for each log directory
                        log directories, followed, away       that failed it, kept over its death; then the view's version
                        since                                 that a partition worker has acted on, and since when (ms of
                                                              the date) the controller process is without ZooKeeper
                   176  leave                 the controller process: whether others are to take over before the node stops
                   184  released                              the process: the epoch whose void rings it has released;
                                                              the supervisor while it does not run
                   256  COUNTER_WORDS counters                the process

    partitions     128  row of slot 0, row of slot 1, ...
                        then the wait bytes of slot 0, of slot 1, ...

    partition row    0  sequence              odd while being written, then the fields: the owner
    wait bytes       n  1 while network worker n has fetches parked on the slot

    view           128  version               controller; commits all of a publication, its descriptor is version & 1
                   136  flips, end, changes,  of the publication of an even version: the half that it lies in is flips & 1,
                        crc32                 up to `end`; the journal's entries so far; of these and the version
                   168  the same              of an odd version
                   200  claimed               journal entries that may be written over from now on
                   208  incarnation           the last that a topic was given
                   216  rows                  of the cluster table; the supervisor, at the start
                   256  journal               a word for each entry: the row that changed
                        row 0, row 1, ...     cluster table, drawn in cluster_table.py
                        half 0, half 1        logs of what changes seldom, drawn in cluster_view.py

    lag            128  rows of a section     the supervisor, at the start
                   136  used, of each         rows of the section that ever were in use: the partition worker whose it is
                        section
                   768  row 0, row 1, ...     a section for each partition worker; the row is drawn in lag_table.py
"""

from __future__ import annotations

from typing import Final

from headrace.limits import NETWORK_WORKERS_MAX, PARTITION_ROW_WORDS, PARTITION_WORKERS_MAX

WORD: Final = 8
LINE: Final = 128

MAGIC: Final = 0x3145434152444845  # "EHDRACE1" as it lies in memory
LAYOUT_VERSION: Final = 3
HEADER_MAGIC: Final = 0
HEADER_VERSION: Final = 1
HEADER_SIZE: Final = 2
HEADER_BOOT: Final = 3
HEADER_GENERATION: Final = 4
HEADER_BYTES: Final = LINE

RING_TAIL: Final = HEADER_BYTES
RING_HEAD: Final = RING_TAIL + LINE
RING_DATA: Final = RING_HEAD + LINE
RING_CAPACITY_MIN: Final = 2048  # a page holds the header and this much
ARENA_DATA: Final = RING_DATA  # as a ring, whose words it has no use for: both are emptied and handed on alike
MESSAGE_HEADER_BYTES: Final = WORD
KIND_PADDING: Final = 0
KIND_MAX: Final = 255

PROCESS_EPOCH: Final = HEADER_BYTES
PROCESS_CLEAN_STOP: Final = PROCESS_EPOCH + WORD
PROCESS_LEAVING: Final = PROCESS_CLEAN_STOP + WORD
PROCESS_STEADY_DATE: Final = PROCESS_LEAVING + WORD
PROCESS_ROWS: Final = HEADER_BYTES + LINE
PROCESS_GENERATION: Final = 0
PROCESS_PID: Final = 1
PROCESS_STARTS: Final = 2
PROCESS_EXIT_CODE: Final = 3
PROCESS_PARKED: Final = LINE // WORD
PROCESS_HEARTBEAT: Final = PROCESS_PARKED + 1
PROCESS_STATE: Final = PROCESS_PARKED + 2
PROCESS_OFFLINE_DIRS: Final = PROCESS_PARKED + 3
PROCESS_FOLLOWED: Final = PROCESS_PARKED + 4
PROCESS_AWAY_SINCE: Final = PROCESS_PARKED + 5
PROCESS_LEAVE: Final = PROCESS_PARKED + 6
PROCESS_RELEASED: Final = PROCESS_PARKED + 7
PROCESS_COUNTERS: Final = 2 * LINE // WORD
COUNTER_WORDS: Final = 48
PROCESS_ROW_WORDS: Final = PROCESS_COUNTERS + COUNTER_WORDS

PARTITION_ROWS: Final = HEADER_BYTES
PARTITION_ROW_BYTES: Final = PARTITION_ROW_WORDS * WORD
WAIT_ROW_BYTES: Final = NETWORK_WORKERS_MAX

VIEW_VERSION: Final = HEADER_BYTES // WORD
VIEW_DESCRIPTORS: Final = VIEW_VERSION + 1  # of even versions; that of odd ones has VIEW_DESCRIPTOR_WORDS more
VIEW_DESCRIPTOR_WORDS: Final = 4
VIEW_CLAIMED: Final = VIEW_DESCRIPTORS + 2 * VIEW_DESCRIPTOR_WORDS
VIEW_INCARNATION: Final = VIEW_CLAIMED + 1
VIEW_ROWS: Final = VIEW_CLAIMED + 2
VIEW_JOURNAL: Final = (HEADER_BYTES + LINE) // WORD
CLUSTER_ROW_BYTES: Final = LINE
JOURNAL_ENTRIES_MIN: Final = 64
JOURNAL_SHARE: Final = 4  # one journal entry per 4 rows; a reader further behind reads all rows

LAG_SECTION_ROWS: Final = HEADER_BYTES // WORD
LAG_USED: Final = LAG_SECTION_ROWS + 1
LAG_ROWS: Final = -(-(LAG_USED + PARTITION_WORKERS_MAX) * WORD // LINE) * LINE
LAG_ROW_BYTES: Final = 3 * LINE
LAG_TEXT: Final = 8 * WORD

assert (HEADER_GENERATION + 1) * WORD <= HEADER_BYTES
assert RING_TAIL // LINE != RING_HEAD // LINE  # the two ends never fight for a line
assert RING_HEAD // LINE != RING_DATA // LINE
assert RING_TAIL % LINE == RING_HEAD % LINE == RING_DATA % LINE == 0
assert RING_CAPACITY_MIN & (RING_CAPACITY_MIN - 1) == 0
assert KIND_MAX < 1 << 32
assert PROCESS_EXIT_CODE < PROCESS_PARKED < PROCESS_STATE < PROCESS_OFFLINE_DIRS < PROCESS_FOLLOWED
assert PROCESS_FOLLOWED < PROCESS_AWAY_SINCE < PROCESS_RELEASED < PROCESS_COUNTERS
assert PROCESS_ROWS % LINE == 0
assert PROCESS_STEADY_DATE + WORD <= PROCESS_ROWS
assert (PROCESS_ROW_WORDS * WORD) % LINE == 0  # the supervisor's words of a row share no line with another row
assert PARTITION_ROWS % LINE == 0
assert PARTITION_ROW_BYTES % LINE == 0
assert WAIT_ROW_BYTES % WORD == 0
assert VIEW_ROWS < VIEW_JOURNAL


def ring_region_bytes(capacity: int) -> int:
    """Size of the region that holds a ring of `capacity` data bytes."""
    assert capacity & (capacity - 1) == 0
    assert capacity >= RING_CAPACITY_MIN
    return RING_DATA + capacity


def arena_region_bytes(capacity: int) -> int:
    """Size of the region that holds an arena of `capacity` bytes."""
    return ARENA_DATA + capacity


def empty_ring(words: memoryview, generation: int) -> None:
    """Turn an unused ring into a new, empty one of `generation`."""
    words[RING_TAIL // WORD] = 0
    words[RING_HEAD // WORD] = 0
    words[HEADER_GENERATION] = generation


def ring_capacity(region_bytes: int) -> int:
    """Data bytes of the ring in a region: the largest power of two after the words."""
    return 1 << ((region_bytes - RING_DATA).bit_length() - 1)


def ring_generation(writer_generation: int, reader_generation: int) -> int:
    """The generation word of a ring's region: those of both ends."""
    return writer_generation << 32 | reader_generation


def process_region_bytes(process_count: int) -> int:
    return PROCESS_ROWS + process_count * PROCESS_ROW_WORDS * WORD


def partition_region_bytes(rows: int) -> int:
    return PARTITION_ROWS + rows * (PARTITION_ROW_BYTES + WAIT_ROW_BYTES)


def lag_region_bytes(rows: int) -> int:
    return LAG_ROWS + rows * LAG_ROW_BYTES


def lay_out_lag(words: memoryview, rows_of_section: int) -> None:
    """A new lag region: its readers are told how large a section is."""
    words[LAG_SECTION_ROWS] = rows_of_section


def journal_entries(rows: int) -> int:
    """How many changes of a cluster table's rows its journal holds: a power of two."""
    return max(JOURNAL_ENTRIES_MIN, (1 << rows.bit_length()) // JOURNAL_SHARE)


def cluster_rows_start(rows: int) -> int:
    """Byte at which the cluster table's rows begin."""
    return (VIEW_JOURNAL + journal_entries(rows)) * WORD


def view_halves_start(rows: int) -> int:
    """Byte at which the halves begin."""
    return cluster_rows_start(rows) + rows * CLUSTER_ROW_BYTES


def lay_out_view(words: memoryview, rows: int) -> None:
    """Say in a new region how many rows its cluster table has."""
    words[VIEW_ROWS] = rows


def view_region_bytes(half_bytes: int, rows: int) -> int:
    assert half_bytes % WORD == 0
    return view_halves_start(rows) + 2 * half_bytes
