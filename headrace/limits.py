"""Every bound of the node that is not a setting, and how the bounds relate.

Bounds that operators may move are settings (`settings.py`); these are the ones that hold the design together.
"""

from __future__ import annotations

from typing import Final

# Processes
NETWORK_WORKERS_MAX: Final = 32
PARTITION_WORKERS_MAX: Final = 64
RESTART_BACKOFF_FIRST_MS: Final = 10
RESTART_BACKOFF_MAX_MS: Final = 5_000
WORKER_HANG_TIMEOUT_MS_MIN: Final = 1_000  # that a setting may choose
DEATHS_BEFORE_READY_MAX: Final = 10  # of one process, in a row: a node that has not served yet gives up
PORT_WAIT_MS: Final = 60_000  # of a start, for a port in use
LOCAL_NODES_MAX: Final = 9  # of `headrace dev --nodes`, on one machine
LOCAL_RESTART_FIRST_MS: Final = 1_000  # before such a node that died starts again, as RestartSec=; doubled each time
LOCAL_RESTART_MAX_MS: Final = 30_000
RENEWAL_POLL_MS: Final = 2  # between two checks whether a dead process's rings can be reused
RENEWAL_RETRY_MS: Final = 500  # between two tries to make new ones, while /dev/shm is full
FORK_RETRY_MS: Final = 500  # between two tries to start a process, while the system has no memory, or no number, for it
STOP_DEADLINE_MS: Final = 7_500  # the clean stop after leaders were moved, where no role gets on for longer
STOP_STEP_MS: Final = 5_000  # a role that takes longer is waited for while it closes one more file in this time
STOP_OVERTIME_MS_MAX: Final = 600_000  # of all roles together
LEAVE_MS_MAX: Final = 8_000  # before that, for leaders to move; systemd's own limit is longer than both
ANSWERS_ASKED_MS: Final = 15_000  # brokers are asked again for answers that elections wait for
LEADERS_TOLD_MS_MAX: Final = 3_000  # twice of that, until all brokers have taken their roles: one may be away
LOCAL_STOP_MAX_MS: Final = 17_000  # of all nodes of `headrace dev`, side by side; then they are killed
WORKER_SPIN_US_MAX: Final = 1_000
CONTROL_SILENT_MS_MAX: Final = 2_000  # then the controller process counts as out of the cluster: it turns each 250 ms
IDLE_WAIT_MAX_MS: Final = 250  # no sleep is longer, so a lost wake-up costs this much at most
TIMED_WAIT_MAX_MS: Final = 100  # of a partition worker in which something waits for its time
DRAIN_MAX_MS: Final = 2_600  # of a process that stops, for what it has taken

# The ZooKeeper in Python (`testing/zookeeper/`)
TESTING_FRAME_BYTES_MAX: Final = 0xFFFFF  # jute.maxbuffer as ZooKeeper has it
TESTING_CONNECTIONS_MAX: Final = 4_096
TESTING_UNSENT_BYTES_MAX: Final = 64 << 20  # to a client that doesn't read; then its connection is closed
TESTING_SESSIONS_MAX: Final = 10_000
TESTING_SESSION_TICKS_MIN: Final = 2  # of a session's timeout
TESTING_SESSION_TICKS_MAX: Final = 20
TESTING_LONG_SESSION_TICKS_MAX: Final = 60  # of `headrace dev`, as it sets up Apache's server
TESTING_WATCHES_MAX: Final = 1_000_000
TESTING_MULTI_OPERATIONS_MAX: Final = 50_000  # of one multi, or multiRead
TESTING_ZOOKEEPER_RESTART_FIRST_MS: Final = 500  # before one that died again is restarted; doubled each time
TESTING_ZOOKEEPER_RESTART_MAX_MS: Final = 10_000
TESTING_STOP_MAX_MS: Final = 5_000  # of its clean stop; then it is killed
TESTING_JOURNAL_BYTES_MAX: Final = 64 << 20  # then it is written again, as the tree is

# Nodes of tests (`testing/`)
TESTING_CLUSTERS_MAX: Final = 32  # of one keeper, at a time
TESTING_START_MS_MAX: Final = 60_000  # until every node of a cluster serves
TESTING_NODE_STOP_MS_MAX: Final = 20_000  # of a node's clean stop; then it is killed
TESTING_ANSWER_MS_MAX: Final = 120_000  # of the keeper to one command
TESTING_CLIENT_WAIT_MS_MAX: Final = 30_000  # of a test, for a topic or a process to be as it should
TESTING_COMMAND_BYTES_MAX: Final = 1 << 20

# Connections to other nodes (`runtime/peers.py`)
PEERS_MAX: Final = 4_096  # of one process
PEER_REQUESTS_MAX: Final = 256  # of one peer, sent or waiting: as many as it would take of us
PEER_REQUESTS_TOTAL_MAX: Final = 100_000  # of all peers of a process
PEER_UNSENT_BYTES_MAX: Final = 4 << 20  # of requests to one peer; a larger one goes where nothing else waits
PEER_BYTES_PER_CYCLE_MAX: Final = 4 << 20  # received of one peer, before the others have their turn
PEER_LOW_WATER_BYTES: Final = 256 << 10  # of a response that arrives, before its process is woken for it
PEER_LOW_WATER_BYTES_MIN: Final = 16 << 10  # a smaller rest is not worth a system call
PEER_KEEPALIVE_IDLE_S: Final = 5  # in which nothing comes, before the other end is asked whether it is there
PEER_KEEPALIVE_INTERVAL_S: Final = 1
PEER_KEEPALIVE_PROBES: Final = 3  # without an answer: it is gone
PEER_UNACKNOWLEDGED_MS: Final = 10_000  # for which what was sent may stay so
# for its name, the connection and the versions; Kafka's socket.connection.setup.timeout.ms
PEER_SETUP_MS: Final = 10_000
PEER_BACKOFF_FIRST_MS: Final = 50  # after a failure, doubled with each; Kafka's reconnect.backoff.ms, and its jitter
PEER_BACKOFF_MAX_MS: Final = 1_000
PEER_BACKOFF_JITTER: Final = 0.2  # either way
RESOLVER_THREADS_MAX: Final = 4  # of a process: names of nodes that are looked up at once

# Clients (`client/`)
CLIENT_CHUNKS_MAX: Final = 2  # of a partition, fetched and not taken; Kafka 0.8's queued.max.message.chunks
CLIENT_FETCH_BYTES_MAX: Final = 256 << 20  # of a partition in one fetch: doubled so far, for an old message
CLIENT_BUILDERS_BYTES_MAX: Final = 8 << 20  # of builders that a producer keeps for batches to come
CLIENT_BATCHES_AHEAD_MAX: Final = 8  # that wait for a request, until a caller that sends many records waits for brokers
CLIENT_AHEAD_WAIT_S_MAX: Final = 0.1  # of each such wait
CLIENT_TRANSACTION_TRIES_MAX: Final = (
    120  # of one request of a transaction, with pauses of half a second; then the call is made again
)
CLIENT_TRANSFORM_TRIES_MAX: Final = 20  # of the same records in a row, each in a transaction that was aborted
CLIENT_HURRY_S_MAX: Final = 1.0  # without such waits, after one that was in vain
# of batches that are closed between two turns of the engine, where records come at once
CLIENT_TURN_BYTES_MAX: Final = 1 << 20
CLIENT_RECEIVES_MAX: Final = 16  # of one socket in one turn, before the others have theirs
LOOKUPS_MAX: Final = 64  # of schemas, that run at once in a process
LOOKUP_TRIES_MAX: Final = 10  # of one send, each after a lookup that succeeded
DEAD_LETTERS_IN_FLIGHT_MAX: Final = 500  # of one consumer, not acknowledged: the next ones wait
DEAD_LETTER_MS_MAX: Final = 30_000  # for the acknowledgement of a dead letter; then the consumer fails
DEAD_LETTER_REASON_CHARS_MAX: Final = 1_000  # of the exception's message, in a header

# Rings (bytes are powers of two; a message is at most half of its ring)
RING_BYTES_MIN: Final = 64 * 1024
RING_BYTES_MAX: Final = 1 << 30
ANSWER_RING_BYTES: Final = 1 << 20
ANSWER_RING_BYTES_MIN: Final = 1 << 18  # lower limit when many rings share the memory
CONTROL_RING_BYTES: Final = 1 << 22
CONTROL_RING_BYTES_MIN: Final = 1 << 20
UPKEEP_RING_BYTES: Final = 1 << 17  # between the housekeeper and a partition worker
PEER_RING_BYTES: Final = 1 << 16  # between a partition worker and another one, or the controller
PEER_RING_BYTES_MIN: Final = 1 << 13  # lower limit when many rings share the memory
ARENA_BYTES_MIN: Final = 1 << 18  # of a network worker
ARENA_BLOCK_BYTES: Final = 64 * 1024  # places are whole ones; a receive buffer is two
UNPLACED_RECEIVES_MAX: Final = 64  # of a connection that receives into the arena and places nothing
ARENA_FRAME_SHARE: Final = 4  # of an arena, for one frame at most: a larger one is received as ever
# of a batch that is appended from where it was received; smaller ones are copied sooner
PLACED_BYTES_MIN: Final = 16 * 1024
SHM_SHARE_OF_MEMORY: Final = 100  # all shared memory of a node: one part in 100 of the machine's
SHM_SHARE_OF_DIRECTORY: Final = 4  # and of /dev/shm, which others use as well
REQUESTS_PER_CYCLE_MAX: Final = 512
# requests of one ring to a partition worker: the first answers leave while others ask on
APPENDS_PER_CYCLE_MAX: Final = 64
GROUP_REQUESTS_PER_CYCLE_MAX: Final = 32  # the same, while groups ask: each costs more than a produce
NETWORK_REQUESTS_PER_CYCLE_MAX: Final = 1_024  # of all connections of a network worker
# of one of them; who pipelines more waits until the others had their turn
CONNECTION_REQUESTS_PER_CYCLE_MAX: Final = 32
NETWORK_CYCLE_MS_MAX: Final = 50  # in which a cycle takes requests; one that has begun is finished
REQUEST_BYTES_PER_CYCLE_MAX: Final = 1 << 20  # of one ring: its writer fills it again while these are being written

# Shared tables
PARTITION_ROW_WORDS: Final = 32
SEQLOCK_TRIES_MAX: Final = 64
SEQLOCK_YIELDS_MAX: Final = 8  # further tries, each after a yield of the processor
CLUSTER_VIEW_BYTES_MIN: Final = 4 * 1024 * 1024  # of a half of the cluster view
CLUSTER_VIEW_BYTES_PER_ROW: Final = 64  # the same, for each partition that the cluster may have

# Deadlines
DEADLINES_MAX: Final = 10_000_000  # of one heap; what is scheduled has nearer bounds of its own
CANCELLED_DEADLINES_MAX: Final = 64  # kept in a heap that has few others
PARKED_PRODUCES_MAX = 100_000  # acks=all requests of one partition worker that wait for replicas

# Connections
RECEIVE_BYTES_HEAD: Final = 4 * 1024  # of a client's end: what a larger response begins with, to be copied
RECEIVE_BYTES_FIRST: Final = 16 * 1024
RECEIVE_BYTES_BUSY: Final = 128 * 1024  # of a connection whose socket holds more than fits; a larger frame takes more
# of a connection between two large frames, while it is busy and no other waits for memory
RECEIVE_BYTES_KEPT: Final = 4 * 1024 * 1024
FRAME_BYTES_AT_ONCE_MAX: Final = 16 << 20  # of a response, on the word of its size; a larger one's memory grows with it
PIPELINED_REQUESTS_MAX: Final = 256  # in flight per connection; reading stops beyond
PARKED_PARTITIONS_MAX: Final = 10_000  # that fetches of one connection wait for; reading stops beyond
REFUSED_PARTITIONS_MAX: Final = 1_000  # of one connection, on which a batch found its partition out of service
OUTBOX_BYTES_MAX: Final = 4 * 1024 * 1024  # answers of one connection (file ranges do not count); reading stops beyond
TRICKLE_DEADLINE_MS: Final = 30_000  # a started frame has to be whole by then
FRAME_PATIENCE_MS: Final = 2_000  # then a large one has to keep the pace for it, while others wait for memory

# Requests that only brokers send, from an address that no broker of the view has
BROKER_REQUEST_WAIT_MS_MAX: Final = 2_000  # for the view, or a name, to show that the peer is a broker
BROKER_REQUESTS_HELD_MAX: Final = 100  # of one network worker, meanwhile
BROKER_REQUESTS_HELD_BYTES_MAX: Final = 16 << 20  # the same
BROKER_NAMES_AGAIN_MS: Final = 10_000  # between two look-ups of brokers' names while strangers ask

STORY_TRANSITIONS_MAX: Final = 32  # of one state machine, kept for the report of a mistake
NOTICE_INTERVAL_MS: Final = 600_000  # between two log lines that say the same of one peer
NOTICES_PER_INTERVAL_MAX: Final = 100  # such lines of one network worker, of all peers

# Records that a node opens: to convert, recompress or check them
OPENED_BYTES_MAX: Final = 64 * 1024 * 1024  # what comes out of one batch
OPENED_RECORDS_MAX: Final = 250_000  # in one batch or set: 70 MB of objects, half a second of a network worker
OPENED_RATIO_MAX: Final = 32  # of a request: beyond OPENED_BYTES_MAX, times its size
RECORD_ERRORS_MAX: Final = 1_000  # of a batch that is refused, returned to its producer
OPENED_RECORD_COST: Final = 256  # what a record costs besides its bytes, as bytes
COMPACTED_RECORDS_MAX: Final = 2_000_000  # in one batch of a log that is compacted: 400 MB of columns
LOOK_UP_SHARE_COST: Final = 4 << 20  # of a cycle, for look-ups that begin, and again for those that wait: 30 ms each
LOOK_UPS_AT_ONCE_MAX: Final = 8  # that wait and take turns, each with an open segment; the others wait for these
LOOK_UP_BATCH_COST_MAX: Final = 64 << 20  # of a look-up in one batch, before others have their turn: half a second
LOOK_UPS_KEPT_MAX: Final = 1_000  # of one network worker, that had too little time, each a place of some 500 bytes
LOOK_UPS_WAITING_MAX: Final = 1_000  # of one network worker, one of a connection
LOOK_UP_ROWS_MAX: Final = 250_000  # of all that wait, 100 MB of objects; one alone may have more
LOOK_UP_MS_MAX: Final = 20_000  # of a look-up over all its turns; Kafka's clients wait 30 s for a response
CONVERTED_BYTES_MAX: Final = 1024 * 1024  # of the log, for one Fetch of an old version, shared by its partitions

# Topics that left the view without having been deleted
# Remembered by one process, so that another one of such a name is known for another
RELEASED_TOPICS_MAX: Final = 10_000

# Batches that go through a ring in parts
BATCH_PARTS_AGE_MS_MAX: Final = 60_000  # from the first part to the last; after that the sender is gone

# Log lines that peers cause, of one kind and process
PEER_LINES_INTERVAL_MS: Final = 10_000
PEER_LINES_MAX: Final = 100  # in an interval
PEER_TRACES_MAX: Final = 10  # the same, of lines with a traceback

# Names
TOPIC_NAME_LENGTH_MAX: Final = 249
CONFIG_VALUE_LENGTH_MAX: Final = 1_000  # of a topic's override as stored in ZooKeeper and in the view, blanks and all

# Requests of one process of the node to another (`runtime/mailbox.py`)
MAIL_REQUESTS_MAX: Final = 100_000  # of one process, that another has not answered
MAIL_UPKEEP_REQUESTS_MAX: Final = 2_000  # of the housekeeper, to one partition worker: the rest waits for a later scan
MAIL_REQUEST_BYTES_MAX: Final = 4 << 20  # of a body, over all its parts: what the default request ring takes whole
MAIL_REPLY_BYTES_MAX: Final = 64 << 20  # the same, of a reply
MAIL_BEGUN_REQUESTS_BYTES_MAX: Final = 16 << 20  # of one asker, of which the ends have not come
MAIL_BEGUN_REPLIES_BYTES_MAX: Final = 128 << 20  # of one process that was asked
MAIL_BEGUN_COST: Final = 256  # of a body in parts besides its bytes, as bytes
MAIL_BACKLOG_MESSAGES_MAX: Final = (
    4 * REQUESTS_PER_CYCLE_MAX
)  # that wait for room in a ring: no more requests are taken then
MAIL_BACKLOG_BYTES_MAX: Final = MAIL_REPLY_BYTES_MAX

# Group, instance ids, protocol names: 4 bytes a character and MEMBER_SUFFIX_BYTES fit an int16
GROUP_STRING_LENGTH_MAX: Final = 8_182
MEMBER_SUFFIX_BYTES: Final = 37  # a dash and a UUID after a client or instance id: a member id
PENDING_MEMBERS_MAX: Final = 20_000  # ids handed out to clients that have not joined with them, as for groups
GROUPS_NAMED_MAX: Final = 50_000  # by one request: half a second of a network worker
GROUPS_NAMED_MANY: Final = 2_000  # end the turn of the connection that asks
# Told by one DescribeProducers, beyond those of its first partition: 10 MB, 0.3 s
PRODUCERS_DESCRIBED_MAX: Final = 100_000
FETCHED_PARTITIONS_MAX: Final = 250_000  # named by one OffsetFetch: 160 MB of objects, a second of a partition worker
CLIENT_ID_LENGTH_MAX: Final = 255  # of a client's id, as its group knows it
GROUPS_PER_PARTITION_MAX: Final = 100_000  # groups in memory that a client can make, by partition of __consumer_offsets

# Producers' batches read again after a snapshot when a log is opened
RECALL_BYTES_MAX: Final = 8 << 20  # of log: five batches of a MiB, and those of others between them
RECALL_BYTES_FIRST: Final = 64 << 10  # most logs need no more
RECALL_SEGMENTS_MAX: Final = 16
RECALL_AGE_MS: Final = 300_000  # a producer that is silent for longer has nothing in flight
PRODUCERS_CHECK_MS: Final = 600_000  # between two looks for idle producers, as Kafka's
PRODUCER_LOGS_PER_TICK_MAX: Final = 1_000  # in which idle producers are looked for

# Coordinators
RELOAD_FIRST_MS: Final = 100  # until the partition of a coordinator that failed is loaded again, doubled each time
RELOAD_MAX_MS: Final = 10_000

# Files
FILE_NAME_BYTES_MAX: Final = 255
DELETED_LOGS_KNOWN_MAX: Final = 10_000  # in one life of a partition worker: how far they reached
OPEN_SEGMENTS_MAX: Final = 4_096  # held open for reading by one process, the least recently used closed first
VIEWED_BYTES_MAX: Final = 2**31 - 1  # of one source of Arrow views: an offset in it is an int32
OPEN_SEGMENTS_MIN: Final = 64  # however few descriptors there are
DESCRIPTORS_RESERVED: Final = 256  # of a process: doorbells, listeners, checkpoints, indexes while they are read
DESCRIPTORS_PER_PEER: Final = 3  # of a partition worker: two rings and a doorbell
DESCRIPTORS_PER_SEGMENT: Final = 2  # held open for reading: the segment and its index
DESCRIPTORS_PER_LOG: Final = (
    5  # of its owner: a segment, the maps of its two indexes, the transaction index, one while it rolls
)
IOV_MAX: Final = 1024
INDEX_GROW_BYTES: Final = 16 * 1024
SEND_BUFFERS_BYTES: Final = 2 << 20  # of a network worker: with more connections each has less to send from,
SEND_BUFFER_BYTES_MIN: Final = 100 << 10  # down to this
WRITE_OUT_MB_PER_S: Final = 800  # of a process: from there on segments are written out as they grow
WRITE_OUT_WAITING_MAX: Final = 64  # parts that a disk has not taken yet
SEGMENT_RESERVE_BYTES_MAX: Final = 8 << 20  # blocks ahead of a segment's end; a quarter of it, where that is less
LOG_DIRS_MAX: Final = 63  # one bit each in a shared word
DIRECTORY_CHECK_INTERVAL_MS: Final = 100  # how old the news of a full or failed log directory may be
DIRECTORY_ROOM_AGAIN: Final = 1.25  # produce is taken again when that many times the smallest free space is there
MOVE_BYTES_PER_CYCLE_MAX: Final = 1 << 20  # of a replica moving to another log directory
MOVE_BYTES_PER_TURN_MAX: Final = (
    16 << 20
)  # the same, where the log grew by more since the last turn: the copy catches up still
MOVE_SYNC_BYTES: Final = 64 << 20  # between two syncs of its copy, so that the last one is short
MOVE_REPORT_INTERVAL_MS: Final = 60_000  # a move that comes no nearer to the end in that time is reported
OPENING_SLICE_MS: Final = 5  # of a cycle of a partition worker, for logs that are to be opened: requests wait no longer
CLOSE_THREADS: Final = 16  # of a partition worker that stops: logs that are synced at once
SYNC_GRACE_MS: Final = 600_000  # a process that waits for a disk sync for this long hangs: 1 GiB at 2 MB/s
QUARANTINE_FIRST_MS: Final = 5_000  # housekeeping that failed is left alone so long, doubled each time
QUARANTINE_MAX_MS: Final = 600_000
QUARANTINE_ENTRIES_MAX: Final = 10_000  # failures that are remembered
REOPEN_INTERVAL_MS: Final = 1_000  # between two tries to open logs that ran out of room
REOPEN_SHARE: Final = 20  # one part in so many of a worker's time at most is for tries that fail, of all its logs
REST_SEARCH_BYTES_MAX: Final = 64 << 20  # after a damaged batch, to see whether a whole one follows

# Codecs and schemas
STRING_BYTES_MAX: Final = 2**15 - 1  # of Kafka's strings: their length is an int16
LZ4_FIRST_BYTES_MIN: Final = 64 * 1024  # taken for the output without having seen any of it
COMPRESSORS_MAX: Final = 32  # kept, by codec and level
PLAIN_WHOLE_RECORDS_MAX: Final = 32
READ_RUN_RECORDS_MAX: Final = 512  # made at once, for a reader that may want one alone
PLAIN_RUN_RECORDS_MIN: Final = 8  # fewer cost more than they save
PLAIN_RUN_RECORDS_MAX: Final = 1_024  # what one that turns out to be none may cost
DECOMPRESSED_BYTES_MAX: Final = 256 * 1024 * 1024
COMPRESSED_MEMBERS_MAX: Final = 256  # gzip members, lz4 or zstd frames in one batch: writers make one
PLACES_KEPT_MAX: Final = 256  # fields of refused messages that a process has looked up
DECODED_BYTES_MAX: Final = 256 * 1024 * 1024
DECODED_REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024  # some 200,000 partitions
HEADER_TAGS_MAX: Final = 1024  # of which none is known so far
NESTING_07_MAX: Final = 4
PAYLOADS_07_MAX: Final = 1_000_000  # in one compressed message
OLD_RUN_BYTES_MAX: Final = 1 << 20

# Seats and views
VIEW_READ_TRIES_MAX: Final = 100  # a try fails only where the controller published twice while one copy was made
JOIN_TRIES_MAX: Final = 1_000

# Logs
RUN_MESSAGES_MAX: Final = 1_000
KEY_WORDS_MAX: Final = 32  # longer keys are hashed one by one
INSPECTED_ENTRY_BYTES_MAX: Final = 128 << 20
STATE_FILE_BYTES_MAX: Final = 64 << 20
STATE_FILE_LINES_MAX: Final = 1000  # of a file of keys and values
READ_AGAIN_MAX: Final = 3  # times that a segment which changes while it is read is read again
FAULTS_MAX: Final = 50  # kept of one file: a file of noise would name each of its bytes
INSPECTED_EPOCHS_MAX: Final = 10_000  # runs of one leader epoch that are remembered of a segment
INSPECTED_ABORTS_MAX: Final = 100_000
PROBES_MAX: Final = 64  # index entries that are tried after a bad place
OLD_ENTRY_BYTES_MAX: Final = 256 << 20  # of v0 and v1, which are read in one piece
KNOWN_PLACES_MAX: Final = 8  # of a segment, where ranges ended lately: readers at its end continue there
# Of a segment whose index can't be read, to which walks came; each other one goes then
UNINDEXED_PLACES_MAX: Final = 1_024
READER_SEGMENTS_MAX: Final = 8
GROUP_SEGMENTS_MAX: Final = 1000
MESSAGE_07_BYTES_MAX: Final = 64 << 20
SEARCH_07_BYTES_MAX: Final = 1 << 30

# Clients
TOPICS_PER_REQUEST_MAX: Final = 500  # whose settings our admin asks for at once
PARTITIONS_ASKED_MAX: Final = 1_000  # whose producers our admin asks for at once
CLIENT_RETRIES_MAX: Final = 10
# Requests of one connection; a broker knows the last five batches of a producer (KIP-98)
CLIENT_IN_FLIGHT_MAX: Final = 5
LEADER_TRIES_MAX: Final = 3  # at a partition without a leader, where the others can be read without it
EPOCH_STEPS_MAX: Final = 32  # questions for the leader epoch of a record, from the present one down
EMPTY_FETCHES_MAX: Final = 20  # in a row: 10 s without a byte below an end that was there when it was frozen
RESPONSE_BYTES_MAX: Final = 256 << 20
CLASSIC_BUFFER_BYTES_MAX: Final = 64 << 20  # what the buffer of a SimpleConsumer doubles up to

# Mirrors
MIRROR_WORKERS_MAX: Final = 64  # processes of one mirror
MIRROR_SOURCES_MAX: Final = 64  # clusters that one mirror reads
MIRROR_LANE_BYTES_MAX: Final = 8 << 20  # of one partition, fetched and not acknowledged
MIRROR_BYTES_MAX: Final = 128 << 20  # the same, of one process
MIRROR_PIECE_BYTES_MAX: Final = 512 << 10  # of records that become one batch, of v0 and v1 or by key, uncompressed
MIRROR_CHUNK_BYTES_MAX: Final = 4 << 20  # of records that one record of the journal divides by key, uncompressed
MIRROR_KEYED_PARTITIONS_MAX: Final = 5_000  # of a target topic that is written by key
MIRROR_ENTRIES_MAX: Final = 2_000  # of one batch of the translation topic; some 400 bytes each
MIRROR_JOURNAL_BYTES_MAX: Final = 512 << 10  # the same, where records are larger
MIRROR_CLAIMS_MAX: Final = 5  # tries to claim a partition, each overtaken by another mirror
MIRROR_AWAY_S_MAX: Final = 600.0  # between two tries to reach a source that does not respond
MIRROR_FAILURES_MAX: Final = 20  # of one partition in a row, before it is stopped
MIRROR_TAIL_WAIT_S: Final = 30.0  # for what a leader has to be replicated
MIRROR_PATH_MAX: Final = 64  # clusters that a topic came through
MIRROR_INTERVAL_MS_MAX: Final = 86_400_000  # between two looks at topics, groups, positions; of a lease

# Network workers
TEMPLATES_MAX: Final = 4096
# Topics of one request; the others are LEADER_NOT_AVAILABLE until the client asks again
CREATED_AT_ONCE_MAX: Final = 500
TRANSACTIONAL_IDS_MAX: Final = 500_000  # of one partition of `__transaction_state`; some 1 KB each
PARKED_REQUESTS_MAX: Final = 16  # of one transactional id: a client has one in flight
EXPIRED_IDS_PER_STEP_MAX: Final = 1_000
GONE_IDS_PER_STEP_MAX: Final = 1_000  # that partitions of deleted topics are taken from
PRODUCER_IDS_AT_HAND: Final = 16  # of a partition worker, for transactional ids
MARKERS_PER_REQUEST_MAX: Final = 5_000
SLOW_PARTITIONS_MAX: Final = 10_000  # whose markers a partition worker sends by themselves
SLOW_REQUESTS_MAX: Final = 64  # of a partition worker in flight to them
MARKERS_WAITING_MAX: Final = 50_000  # of a partition worker, appended and not committed
MARKER_COMMIT_MS: Final = 5_000
MARKER_ANSWER_MS: Final = 30_000
VERIFICATIONS_PER_REQUEST_MAX: Final = 1_000
VERIFICATIONS_WAITING_MAX: Final = 10_000  # of a partition worker
VERIFICATION_ANSWER_MS: Final = 2_000
VERIFICATION_WAIT_MS: Final = 10_000  # of a batch, for a coordinator; less where its request has less time
UNVERIFIED_BYTES_MAX: Final = 64 << 20  # of a partition worker, in batches that wait for it
LOGGED_ID_LENGTH_MAX: Final = 200  # of a transactional id in a log line
ACCEPTS_PER_CYCLE_MAX: Final = 64
SHARE_BYTES_MIN: Final = 16 * 1024
EMPTY_RANGES_MAX: Final = 64  # of markers alone, one after the other
INDEX_BYTES_MIN: Final = 16  # of an index: two entries, so that a segment takes a batch
REFUSED_PRODUCERS_MAX: Final = 10_000  # of a partition worker: producers whose batch was refused, 2 MB
REFUSED_PRODUCER_MS: Final = 60_000  # how long that is remembered
PRODUCE_IN_FLIGHT_MAX: Final = 5  # of an idempotent producer, for one partition: as many as a log remembers
SENDFILE_BYTES_MAX: Final = 2 << 20  # for one cycle, so that one reader does not hold the loop
OUTBOX_JOIN_BYTES_MAX: Final = 64 * 1024
OUTBOX_CORKED_BYTES_MAX: Final = 128 * 1024  # of a file's range whose end waits for what follows: it fits a send buffer
READERS_MAX: Final = 2_000

# Replication
ISR_CHECK_INTERVAL_MS_MIN: Final = 50  # between two checks for late followers; a tenth of the largest lag between these
ISR_CHECK_INTERVAL_MS_MAX: Final = 1_000
# Before a change of an ISR whose outcome is not known is asked for again, doubled each time
ISR_RETRY_FIRST_MS: Final = 50
ISR_RETRY_MAX_MS: Final = 1_000
ISR_CHANGES_PER_REQUEST_MAX: Final = 500
SESSION_PARTITIONS_MAX: Final = 200_000  # that a follower fetches over one connection
# Without a fetch, before a session gives way to a new one that finds no room; Kafka's
SESSION_IDLE_MS_MIN: Final = 120_000
# Entries of an epoch file, the last ones, compared with the batches at each opening
LEADER_EPOCHS_COMPARED_MAX: Final = 3
EPOCH_FILES_MAX: Final = 10_000  # partitions whose leader epochs a network worker remembers
RECORD_DELETIONS_MAX: Final = 10_000  # partitions of one worker whose DeleteRecords wait for followers
FOLLOWED_PER_MESSAGE_MAX: Final = 512  # followers' offsets, 20 KiB

# Partition workers
APPEND_PLACES_MAX: Final = 64  # of a replica with followers, remembered for its high watermark; half of them at least
OTHERS_CYCLES_MAX: Final = 8  # busy cycles after which the rings of other than network workers are read all the same
PARKED_PRODUCES_MAX = 100_000  # over all replicas of one worker; beyond, requests time out at once
ROWS_PER_FLUSH_MAX: Final = 5_000
BACKLOG_ENTRIES_MAX: Final = 4 * REQUESTS_PER_CYCLE_MAX
COORDINATOR_CYCLE_MS_MAX: Final = 1_000

# Followers
# Of a cycle, in which what leaders sent is appended; a slice that has begun is finished
FETCHED_CYCLE_MS_MAX: Final = 5
FETCHED_SLICE_BYTES: Final = 512 << 10  # appended between two checks of the clock
REPLICATION_RATE_MAX: Final = (1 << 63) - 1  # bytes a second: no throttle
THROTTLE_PAUSE_MS_MAX: Final = 1_000  # of a throttled follower, before its rate is read again
# Of a follower whose connection broke: a network worker that died is back within milliseconds
FETCH_RECONNECT_FIRST_MS: Final = 10
FETCH_PAUSE_FIRST_MS: Final = 20  # after an error of a partition, doubled each time up to replica.fetch.backoff.ms
FETCH_BUFFER_BYTES_MAX: Final = (
    64 << 20
)  # of answers of one leader, received in place; a larger one gets memory of its own

# Coordinators
LOAD_REPORTS_MAX: Final = 20  # log lines of one load; the last one has the sum
LOAD_REPORT_LENGTH_MAX: Final = 200  # characters of foreign log content quoted in a log line
TOMBSTONES_BYTES_MAX: Final = 64 * 1024  # of one append
COMMIT_PREFIX_BYTES_MAX: Final = 4 * 1024 * 1024  # that a group's id takes in the records of one commit
REBALANCE_REASON_LENGTH_MAX: Final = 255  # of a client's reason, in the log; Kafka's clients send no more
COORDINATOR_TIMERS_MAX: Final = 2_000_000  # of one kind in one worker; when half are in use no client adds a member

# Housekeeper
SEGMENTS_PER_REQUEST_MAX: Final = 1_000
LOOKS_REFUSED_MAX: Final = 3  # at the segments of one log, one after the other, before it waits for the next check
DELETED_SEGMENTS_PER_CYCLE_MAX: Final = 50  # of a partition worker: 5 ms of renames
DELETED_SEGMENTS_WAITING_MAX: Final = 20_000  # in it, of all requests but one; beyond, the housekeeper asks again
CLEANER_FAILURES_MAX: Final = 10
LAG_ROWS_PER_SCAN_MAX: Final = 2_000  # at a time; the others have their turn in the next ones

# Controller
CONFIGS_RETURNED_MAX: Final = 100  # topics of one answer: 140 KB, and a connection may have 256 requests in flight
CONFIG_WRITE_TRIES_MAX: Final = 5  # each is lost to a concurrent write
CONFIG_PURGES_MAX: Final = 200  # at a time
RELEASES_TOLD_MAX: Final = 100  # by name, at a time
ASSIGNMENT_TOLD_MAX: Final = 2_000  # bytes of it
PARTITIONS_PER_TOPIC_MAX: Final = 100_000
PARTITIONS_PER_REQUEST_MAX: Final = 100_000
TOPIC_NODE_BYTES_MAX: Final = 900_000  # ZooKeeper drops the connection of who sends more than a MiB (jute.maxbuffer)
CONTROLLER_REQUESTS_PER_CYCLE_MAX: Final = 64
PENDING_RESPONSES_MAX: Final = 10_000
REQUEST_WORK_MS_MAX: Final = 10_000  # of one request on ZooKeeper: its client has given up by then, or is about to
# Of all tasks in one cycle; requests, the view and the heartbeat have their turn after that
TASK_WORK_MS_MAX: Final = 5
CONTROLLER_TIMERS_MAX: Final = 50_000  # calls without a reply yet, and sleeps
LOAD_WAIT_MS_MAX: Final = 20_000  # of a request of another node's controller, until this node has read ZooKeeper
ISR_ALTERATIONS_IN_FLIGHT_MAX: Final = 1_000  # partitions of one AlterPartition
ISR_WRITES_IN_FLIGHT_MAX: Final = 8  # of a leader that writes in-sync replicas itself
# States that a node writes with one note: of up to 700 bytes, in a multi of 1 MiB at most
NOTED_STATES_PER_COMMIT_MAX: Final = 400
# Of one znode, which ZooKeeper takes up to 1 MiB of: names have 249 characters at most
ISR_NOTICE_PARTITIONS_MAX: Final = 1_000
# Until the controller is notified of ISRs that leaders wrote, however many follow; Kafka's
ISR_NOTICE_MS_MAX: Final = 60_000
ISR_ANSWER_MS_MAX: Final = 60_000  # then a leader is notified that nothing is known of the change that it asked for
CONTROLLER_ANSWER_MS_MAX: Final = 10_000  # then the connection to the active controller is given up
LEARN_TRIES_MAX: Final = 10  # to read a topic that a controller told of, and ZooKeeper does not show yet
# Of a LeaderAndIsr or StopReplica, until owners have acted; Kafka's controller waits for 30 s
ROLES_WAIT_MS_MAX: Final = 20_000
# Until owners have heard which replicas are new; without that they are refused beside a failed directory
NEW_REPLICAS_WAIT_MS_MAX: Final = 5_000
TOLD_PARTITIONS_PER_STEP: Final = 2_000  # of a request, taken in without a pause
NEW_LIFE_WAIT_MS_MAX: Final = 300_000  # for a controller to take a restarted node out of ISRs, before it registers
LOG_ENDS_PER_REQUEST_MAX: Final = 1_000  # partitions of one ListOffsets, by which held replicas are compared
LOG_EPOCHS_PER_REQUEST_MAX: Final = 200  # held logs whose leader epochs their owner is asked for at once
LOG_PARTING_ROUNDS_MAX: Final = 100  # leader epochs that another broker is asked for, where two logs have parted
HELD_CHECK_MS_MAX: Final = 30_000  # between two checks of held replicas, however long one takes
HELD_WRITE_TRIES_MAX: Final = 5  # of a znode of holds: each is lost to a concurrent write
HELD_TOLD_MAX: Final = 5  # of those that a log line is about
OPENED_LOGS_WAITING_MAX: Final = 1_000  # messages about opened logs, before a new process knows what is held
OPENED_LOGS_PER_REQUEST_MAX: Final = 1_000
READS_IN_FLIGHT_MAX: Final = 200  # of one task: what it decodes at once, and what other calls wait behind
CREATIONS_IN_FLIGHT_MAX: Final = 8  # topics of one request
DELETIONS_IN_FLIGHT_MAX: Final = 8  # topics
REASSIGNMENTS_IN_FLIGHT_MAX: Final = 8  # topics, of one request or of a term
REASSIGNMENT_TRIES_MAX: Final = 5  # while others write the same nodes
REASSIGNMENT_STOP_WAIT_MS: Final = 1_000  # for replicas to be deleted; the topic's leaders stay as they are so long
VIEW_BYTES_PER_MOVED_REPLICA: Final = 16  # that a view grows by, at most
ISR_WRITE_TRIES_MAX: Final = 4  # of one request, each lost to another writer of one of its states, or its reply lost
# Transactions of partition states, of one procedure: some are made while others are written
COMMITS_IN_FLIGHT_MAX: Final = 4
NOTIFICATIONS_REMOVED_MAX: Final = 500  # nodes, at a time
NOTICE_PARTITIONS_MAX: Final = 1_000  # sent to a broker in one request: 100 KB, and 10 ms to make
ITEMS_PER_POLL_MAX: Final = 500  # that an answer waits for, and replicas that are to go: rows read in one cycle
PARTITIONS_PER_PUBLICATION_MAX: Final = 400  # of topics that are new: what it takes to make and write them is 10 ms
# After names of topics were listed, so that thousands that come one by one are not listed as often
FOLLOW_PAUSE_MS_MAX: Final = 2_000
ELECTION_TRIES_MAX: Final = 10  # each is lost to another node that was faster, or to one that resigned just then
SESSION_PASSWORD_BYTES_MAX: Final = 64  # ZooKeeper's have 16
PRODUCER_IDS_SKIPPED: Final = 1_000_000  # a thousand blocks: more than a cluster gives out between two backups
PRODUCER_ID_TRIES_MAX: Final = 20  # each is lost to another node that claimed at the same time

# Node
KEY_SIMILARITY_MIN: Final = 0.85  # of an unknown key to the one that was perhaps meant
ZOOKEEPER_START_TRIES_MAX: Final = 5
LOCK_HOLDER_BYTES_MAX: Final = 64

# Command line
DEMO_QUEUE_MESSAGES_MAX: Final = 200_000
DEMO_MESSAGE_BYTES_MAX: Final = 1_000_000  # of a line and its file's name, librdkafka's default
RATE_BYTES_MIN: Final = 1_000_000  # of less than that a rate says nothing
REQUEST_TIMEOUT_MS_MAX: Final = 3_600_000
LINE_BYTES_MAX: Final = 32 << 20
IMPORTED_BATCH_RECORDS_MAX: Final = 50_000  # in a batch
DAMAGES_SHOWN_MAX: Final = 20
IMPORT_STATE_BYTES_MAX: Final = 16 << 20
PRODUCE_TIMEOUT_S_MAX: Final = 86_400

# Vocabulary
# Of a group id whose partition is remembered; 16,384 of the longest would take 512 MiB
KEPT_KEY_LENGTH_MAX: Final = 256
# Characters of what is returned to a client, names from its request among them: fits an int16
MESSAGE_LENGTH_MAX: Final = 4_000

# Records decoded in Spark's workers (`spark/decoding/`) and by clients (`client/schemas/`)
DECODE_REASON_CHARS_MAX: Final = 300  # of why a record was not decoded
FLAT_JSON_FIELDS_MAX: Final = 64  # that the kernel reads of a JSON record; it keeps a bit for each
SCHEMA_DEPTH_MAX: Final = 100  # types within types
MESSAGE_PATHS_MAX: Final = 1000  # to messages that a batch may name before they are looked up again
REGISTRY_RESPONSE_BYTES_MAX: Final = 16 << 20  # of a schema registry
REGISTRY_SCHEMAS_MAX: Final = 1000  # that a worker keeps, or a client's serializer
REGISTRY_REFERENCES_MAX: Final = 100  # of one schema, theirs too
MESSAGE_INDEXES_MAX: Final = 16  # messages within messages
UNKNOWN_SCHEMAS_MAX: Final = 20  # ids of one batch that the registry does not know
SINK_TASKS_KNOWN_MAX: Final = 10_000  # tasks of an exactly-once sink whose rows are known by their producer ids
PARTIAL_GROUPS_MAX: Final = 200_000  # partial rows that a worker keeps of an aggregate; beyond, they are handed on
PACKED_RANGES_MAX: Final = 1_000  # that one task reads: what is repeated if it fails
REPEATED_ARRAYS_MAX: Final = 8  # of a process that reads: topic and partition, as often as a chunk has rows
EXPLAINED_SCANS_MAX: Final = 1000  # the latest are remembered

# The loader (`load/`)
LOAD_TASK_ATTEMPTS_MAX: Final = 4  # at a range, each by a new process where the one before died
LOAD_WORKERS_MAX: Final = 256  # processes of one loader
LOAD_OPEN_FILES_MAX: Final = 32  # of a task, one for each hour that it meets; the one not used for longest is closed
LOAD_BUFFER_BYTES_MAX: Final = 64 << 20  # of a task's records that are not in a row group yet
LOAD_MESSAGE_BYTES_MAX: Final = 64 << 20  # between driver and worker
LOAD_MANIFEST_BYTES_MAX: Final = 1 << 30  # of a commit, or a checkpoint of all of them
LOAD_LEFT_NAMED_MAX: Final = 5  # partitions without a leader, in one log line
# of different values in a row group; more are stored without a dictionary
PARQUET_DICTIONARY_BYTES_MAX: Final = 64 << 10
LOAD_COMMIT_TRIES_MAX: Final = 20  # of one commit, each after a compaction that came first
LOAD_UPKEEP_TRIES_MAX: Final = 10  # of an expiry or a deletion, each after others replaced its files
LOAD_DELETED_RUNS_MAX: Final = 16 << 20  # runs of deleted offsets that are kept of a partition: 16 bytes each
LOAD_LIST_TRIES_MAX: Final = 10  # readings of a commit log that another process shortens meanwhile
# Of a partition whose end is before the last commit: a new leader may not know better yet
LOAD_WENT_BACK_TRIES_MAX: Final = 10

# Reports of replicas that are lost (controller/agent/log_dir_failures.py)
OFFLINE_ROWS_PER_SCAN_MAX: Final = 500  # 3 ms; a node of 10,000 replicas is through in 20 s

# The fork server of a local Spark session (spark/fork_server.py, cli/spark_forkserver.py)
SPARK_LAUNCHERS_WAITING_MAX: Final = 64
SPARK_FORK_REQUEST_BYTES_MAX: Final = 16 << 20

assert CONNECTION_REQUESTS_PER_CYCLE_MAX <= PIPELINED_REQUESTS_MAX <= NETWORK_REQUESTS_PER_CYCLE_MAX
assert (
    10 * NETWORK_CYCLE_MS_MAX <= WORKER_HANG_TIMEOUT_MS_MIN
)  # a beat in each cycle, however long the last request took
assert CANCELLED_DEADLINES_MAX < COORDINATOR_TIMERS_MAX // 2 <= DEADLINES_MAX
assert CANCELLED_DEADLINES_MAX < PARKED_PRODUCES_MAX <= DEADLINES_MAX
assert PEER_REQUESTS_MAX <= PIPELINED_REQUESTS_MAX  # or a node like ours stops reading
assert PEER_REQUESTS_TOTAL_MAX + PEERS_MAX <= DEADLINES_MAX
assert PEER_BACKOFF_FIRST_MS <= PEER_BACKOFF_MAX_MS <= PEER_SETUP_MS
assert FRAME_PATIENCE_MS < TRICKLE_DEADLINE_MS
assert 0 < PEER_TRACES_MAX <= PEER_LINES_MAX
assert 0 < TESTING_SESSION_TICKS_MIN <= TESTING_SESSION_TICKS_MAX <= TESTING_LONG_SESSION_TICKS_MAX
assert LOCAL_STOP_MAX_MS < TESTING_NODE_STOP_MS_MAX
assert TESTING_START_MS_MAX + TESTING_NODE_STOP_MS_MAX < TESTING_ANSWER_MS_MAX
assert TESTING_ZOOKEEPER_RESTART_FIRST_MS <= TESTING_ZOOKEEPER_RESTART_MAX_MS
assert TESTING_FRAME_BYTES_MAX < TESTING_UNSENT_BYTES_MAX
assert TESTING_FRAME_BYTES_MAX < TESTING_JOURNAL_BYTES_MAX
assert GROUPS_NAMED_MANY < GROUPS_NAMED_MAX
assert RECEIVE_BYTES_HEAD <= RECEIVE_BYTES_FIRST <= RECEIVE_BYTES_BUSY <= RECEIVE_BYTES_KEPT
assert RECEIVE_BYTES_KEPT <= FRAME_BYTES_AT_ONCE_MAX <= RESPONSE_BYTES_MAX
assert RING_BYTES_MIN & (RING_BYTES_MIN - 1) == 0
assert RING_BYTES_MIN <= ANSWER_RING_BYTES_MIN <= ANSWER_RING_BYTES
assert RING_BYTES_MIN <= CONTROL_RING_BYTES_MIN <= CONTROL_RING_BYTES
assert DELETED_SEGMENTS_PER_CYCLE_MAX < SEGMENTS_PER_REQUEST_MAX < DELETED_SEGMENTS_WAITING_MAX
assert UPKEEP_RING_BYTES >= RING_BYTES_MIN
assert PEER_RING_BYTES_MIN <= PEER_RING_BYTES <= UPKEEP_RING_BYTES
assert MAIL_REQUEST_BYTES_MAX + MAIL_BEGUN_COST <= MAIL_BEGUN_REQUESTS_BYTES_MAX
assert MAIL_REPLY_BYTES_MAX + MAIL_BEGUN_COST <= MAIL_BEGUN_REPLIES_BYTES_MAX
assert RESTART_BACKOFF_FIRST_MS <= RESTART_BACKOFF_MAX_MS
assert 4 * GROUP_STRING_LENGTH_MAX + MEMBER_SUFFIX_BYTES < 1 << 15
assert 2 * LEADERS_TOLD_MS_MAX < LEAVE_MS_MAX
assert ISR_CHECK_INTERVAL_MS_MIN <= ISR_CHECK_INTERVAL_MS_MAX
assert ISR_RETRY_FIRST_MS <= ISR_RETRY_MAX_MS
assert RELOAD_FIRST_MS <= RELOAD_MAX_MS
assert QUARANTINE_FIRST_MS <= QUARANTINE_MAX_MS
assert OPEN_SEGMENTS_MIN <= OPEN_SEGMENTS_MAX
assert RECALL_BYTES_FIRST <= RECALL_BYTES_MAX
