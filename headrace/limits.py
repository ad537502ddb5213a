"""Every bound of the node that is no setting, and how the bounds relate.

Bounds that operators may move are settings (`settings.py`); these are the ones that hold the design together.
"""

from __future__ import annotations

# Processes
NETWORK_WORKERS_MAX = 32
PARTITION_WORKERS_MAX = 64
RESTART_BACKOFF_FIRST_MS = 10
RESTART_BACKOFF_MAX_MS = 5_000
STOP_DEADLINE_MS = 9_000  # the whole clean stop; systemd's own limit is longer
IDLE_WAIT_MAX_MS = 100  # no sleep is longer, so a lost wake-up costs this much at most

# Rings (bytes are powers of two; a message is at most half of its ring)
RING_BYTES_MIN = 64 * 1024
RING_BYTES_MAX = 1 << 30
ANSWER_RING_BYTES = 1 << 20
CONTROL_RING_BYTES = 1 << 22
UPKEEP_RING_BYTES = 1 << 17  # between the housekeeper and a partition worker
REQUESTS_PER_CYCLE_MAX = 512
APPENDS_PER_CYCLE_MAX = 64  # requests of one ring to a partition worker: the first answers leave while others ask on
GROUP_REQUESTS_PER_CYCLE_MAX = 32  # the same, while groups ask: each costs more than a produce
REQUEST_BYTES_PER_CYCLE_MAX = 1 << 20  # of one ring: its writer fills it again while these are being written

# Shared tables
PARTITION_ROW_WORDS = 32
SEQLOCK_TRIES_MAX = 64
SEQLOCK_YIELDS_MAX = 8  # further tries, each behind a yield of the processor
CLUSTER_VIEW_BYTES_MAX = 16 * 1024 * 1024

# Connections
RECEIVE_BYTES_FIRST = 16 * 1024
RECEIVE_BYTES_BUSY = 128 * 1024  # of a connection whose socket holds more than fits; a larger frame takes more
PIPELINED_REQUESTS_MAX = 256  # in flight per connection; reading stops beyond
PARKED_PARTITIONS_MAX = 10_000  # that fetches of one connection wait for; reading stops beyond
OUTBOX_BYTES_MAX = 4 * 1024 * 1024  # answers of one connection (file ranges do not count); reading stops beyond
TRICKLE_DEADLINE_MS = 30_000  # a started frame has to be whole by then

NOTICE_INTERVAL_MS = 600_000  # between two log lines that say the same of one peer
NOTICES_PER_INTERVAL_MAX = 100  # such lines of one network worker, of all peers

# Records that a node opens: to convert, recompress or check them
OPENED_BYTES_MAX = 64 * 1024 * 1024  # what comes out of one batch
OPENED_RECORDS_MAX = 250_000  # in one batch or set: 70 MB of objects, half a second of a network worker
OPENED_RATIO_MAX = 32  # of a request: beyond OPENED_BYTES_MAX, times its size
OPENED_RECORD_COST = 256  # what a record costs besides its bytes, as bytes
COMPACTED_RECORDS_MAX = 2_000_000  # in one batch of a log that is compacted: 400 MB of columns
CONVERTED_BYTES_MAX = 1024 * 1024  # of the log, for one Fetch of an old version, shared by its partitions

# Names
TOPIC_NAME_LENGTH_MAX = 249
CONFIG_VALUE_LENGTH_MAX = 1_000  # of a topic's override as it stands in ZooKeeper and in the view, blanks and all

ADMIN_RESPONSE_BYTES_MAX = 64 * 1024 * 1024  # of a partition worker's answer, over all its parts
GROUP_STRING_LENGTH_MAX = (
    8_182  # group, instance ids, protocol names: 4 bytes a character and MEMBER_SUFFIX_BYTES fit an int16
)
MEMBER_SUFFIX_BYTES = 37  # a dash and a UUID behind a client or instance id: a member id
PENDING_MEMBERS_MAX = 20_000  # ids handed out to clients that have not joined with them, as for groups
PRODUCERS_DESCRIBED_MAX = 100_000  # told by one DescribeProducers, beyond those of its first partition: 10 MB, 0.3 s
FETCHED_PARTITIONS_MAX = 250_000  # named by one OffsetFetch: 160 MB of objects, a second of a partition worker
CLIENT_ID_LENGTH_MAX = 255  # of a client's id, as its group knows it
GROUPS_PER_PARTITION_MAX = 100_000  # groups in memory that a client can make, by partition of __consumer_offsets

# Producers' batches read again behind a snapshot when a log is opened
RECALL_BYTES_MAX = 8 << 20  # of log: five batches of a MiB, and those of others between them
RECALL_BYTES_FIRST = 64 << 10  # most logs need no more
RECALL_SEGMENTS_MAX = 16
RECALL_AGE_MS = 300_000  # a producer that is silent for longer has nothing in flight

# Files
FILE_NAME_BYTES_MAX = 255
OPEN_SEGMENTS_MAX = 4_096  # held open for reading by one process, the least recently used closed first
OPEN_SEGMENTS_MIN = 64  # however few descriptors there are
DESCRIPTORS_RESERVED = 256  # of a process: doorbells, listeners, checkpoints, indexes while they are looked at
DESCRIPTORS_PER_SEGMENT = 2  # held open for reading: the segment and its index
DESCRIPTORS_PER_LOG = 6  # of its owner: a segment, its two indexes, their maps, and one while it rolls
IOV_MAX = 1024
INDEX_GROW_BYTES = 16 * 1024
LOG_DIRS_MAX = 63  # one bit each in a shared word
DIRECTORY_LOOK_INTERVAL_MS = 100  # how old the news of a full or failed log directory may be
DIRECTORY_ROOM_AGAIN = 1.25  # produce is taken again when that many times the smallest free space is there
MOVE_BYTES_PER_CYCLE_MAX = 1 << 20  # of a replica on its way to another log directory
MOVE_SYNC_BYTES = 64 << 20  # between two syncs of its copy, so that the last one is short
CLOSE_THREADS = 16  # of a partition worker that stops: logs that are synced at once
SYNC_GRACE_MS = 600_000  # a process that waits for a disk sync for this long hangs: 1 GiB at 2 MB/s
QUARANTINE_FIRST_MS = 5_000  # housekeeping that failed is left alone so long, doubled each time
QUARANTINE_MAX_MS = 600_000
QUARANTINE_ENTRIES_MAX = 10_000  # failures that are remembered
REOPEN_INTERVAL_MS = 1_000  # between two tries to open logs that ran out of room

assert RING_BYTES_MIN & (RING_BYTES_MIN - 1) == 0
assert ANSWER_RING_BYTES >= RING_BYTES_MIN
assert UPKEEP_RING_BYTES >= RING_BYTES_MIN
assert RESTART_BACKOFF_FIRST_MS <= RESTART_BACKOFF_MAX_MS
assert 4 * GROUP_STRING_LENGTH_MAX + MEMBER_SUFFIX_BYTES < 1 << 15
assert STOP_DEADLINE_MS < 10_000
assert QUARANTINE_FIRST_MS <= QUARANTINE_MAX_MS
assert OPEN_SEGMENTS_MIN <= OPEN_SEGMENTS_MAX
assert RECALL_BYTES_FIRST <= RECALL_BYTES_MAX
