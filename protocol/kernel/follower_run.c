/* What a follower takes of a slice that its leader sent: one walk that checks the batches, and finds their index entries and producers.

   Stands for the loop of log/writing/follower_append.py and `Segment.take_batch`, for as long as batches are as most are. */
#include "batch.h"

#define ENTRIES_MAX 512   /* of a walk, in each index */
#define PRODUCERS_MAX 512 /* batches of a walk that have one */
#define OFFSET_ENTRY_BYTES 8
#define TIME_ENTRY_BYTES 12
#define OFFSET_FAR (INT64_MAX - ((int64_t)1 << 32)) /* from there on an offset and a delta may not fit */

enum { PRODUCER_ID, PRODUCER_EPOCH, SEQUENCE, TRANSACTIONAL, FIRST_OFFSET, LAST_DELTA, PRODUCER_FIELDS };

/* A segment, and how far the walk is in it; the names are those of `Segment`. */
typedef struct {
    int64_t position, next_offset, bytes_since_index, max_ms, max_ms_offset, indexed_ms;
    int64_t epoch, interval, base_offset, last_offset_max, bytes_max, roll_ms, index_room;
    int entries, times, producers;
    uint8_t offset_index[ENTRIES_MAX * OFFSET_ENTRY_BYTES], time_index[ENTRIES_MAX * TIME_ENTRY_BYTES];
    int64_t produced[PRODUCERS_MAX * PRODUCER_FIELDS];
} segment_t;

/* Whether the batch is taken; if not, nothing was done. `left` bytes are there. */
static int take(segment_t *segment, bytes_t at, int64_t left)
{
    if (left < HEADER_BYTES || entry_magic(at) != MAGIC_V2)
        return 0;
    batch_header_t header = read_batch_header(at);
    int64_t base_offset = header.base_offset, size = header.size, last_delta = header.last_delta, max_ms = header.max_ms;
    if (size < HEADER_BYTES || size > left || last_delta < 0 || base_offset < segment->next_offset || base_offset >= OFFSET_FAR)
        return 0;
    int64_t last_offset = base_offset + last_delta, producer_id = header.producer_id;
    if (header.leader_epoch > segment->epoch || header.attributes & CONTROL_BIT)
        return 0;
    if (last_offset > segment->last_offset_max || segment->position + size > segment->bytes_max || max_ms > segment->roll_ms
        || segment->index_room <= 0 || segment->entries == ENTRIES_MAX || (producer_id >= 0 && segment->producers == PRODUCERS_MAX))
        return 0;
    if (batch_crc(at, size) != header.crc)
        return 0;
    if (max_ms > segment->max_ms) {
        segment->max_ms = max_ms;
        segment->max_ms_offset = last_offset;
    }
    if (segment->bytes_since_index > segment->interval) {
        uint8_t *entry = segment->offset_index + OFFSET_ENTRY_BYTES * segment->entries++;
        store_be32(entry, (uint32_t)(last_offset - segment->base_offset));
        store_be32(entry + 4, (uint32_t)segment->position);
        if (segment->max_ms > segment->indexed_ms) {
            segment->indexed_ms = segment->max_ms;
            entry = segment->time_index + TIME_ENTRY_BYTES * segment->times++;
            store_be64(entry, (uint64_t)segment->max_ms);
            store_be32(entry + 8, (uint32_t)(segment->max_ms_offset - segment->base_offset));
        }
        segment->index_room--;
        segment->bytes_since_index = 0;
    }
    if (producer_id >= 0) {
        int64_t *fields = segment->produced + PRODUCER_FIELDS * segment->producers++;
        fields[PRODUCER_ID] = producer_id;
        fields[PRODUCER_EPOCH] = header.producer_epoch;
        fields[SEQUENCE] = header.sequence;
        fields[TRANSACTIONAL] = header.attributes & TRANSACTIONAL_BIT;
        fields[FIRST_OFFSET] = base_offset;
        fields[LAST_DELTA] = last_delta;
    }
    segment->bytes_since_index += size;
    segment->position += size;
    segment->next_offset = last_offset + 1;
    return 1;
}

/* take_run(data, place, position, next_offset, bytes_since_index, max_ms, max_ms_offset, indexed_ms,
            epoch, interval, base_offset, last_offset_max, bytes_max, roll_ms, index_room)
       -> None, or (bytes taken, next_offset, bytes_since_index, max_ms, max_ms_offset, indexed_ms,
                    entries of the offset index, entries of the time index, producers)

   The batches from `place` of the data on that may be appended at `position` of a segment, which is not its first one. It ends at
   the first one that is not as most are: of an old format, cut short, damaged, of another offset than may come next, of a later
   epoch than `epoch`, a control batch, one that does not fit the segment. None: that is the first one.

   indexed_ms   an entry of the time index has a later time than this
   entries      as they are stored; the offset index has one for each that became due, the time index may have fewer
   producers    int64 (batches, PRODUCER_FIELDS) in the machine's order, of batches that have one */
TAKES(take_run)
{
    long long numbers[14];
    Py_buffer data;
    if (!takes("take_run", 15, count) || take_numbers(args + 1, 14, numbers) || take_bytes(args[0], &data))
        return NULL;
    int64_t start = numbers[0], place = start;
    segment_t segment;
    segment.position = numbers[1];
    segment.next_offset = numbers[2];
    segment.bytes_since_index = numbers[3];
    segment.max_ms = numbers[4];
    segment.max_ms_offset = numbers[5];
    segment.indexed_ms = numbers[6];
    segment.epoch = numbers[7];
    segment.interval = numbers[8];
    segment.base_offset = numbers[9];
    segment.last_offset_max = numbers[10];
    segment.bytes_max = numbers[11];
    segment.roll_ms = numbers[12];
    segment.index_room = numbers[13];
    segment.entries = segment.times = segment.producers = 0;
    if (place < 0 || place > data.len || segment.position < 0 || segment.position > INT64_MAX - data.len) {
        PyErr_SetString(PyExc_ValueError, "take_run: a position outside of the data, or of any file");
        PyBuffer_Release(&data);
        return NULL;
    }
    while (take(&segment, (bytes_t)data.buf + place, data.len - place))
        place = start + segment.position - numbers[1];
    PyBuffer_Release(&data);
    if (place == start)
        Py_RETURN_NONE;
    return Py_BuildValue(
        "(LLLLLLy#y#y#)", (long long)(place - start), (long long)segment.next_offset, (long long)segment.bytes_since_index,
        (long long)segment.max_ms, (long long)segment.max_ms_offset, (long long)segment.indexed_ms,
        (char *)segment.offset_index, (Py_ssize_t)segment.entries * OFFSET_ENTRY_BYTES,
        (char *)segment.time_index, (Py_ssize_t)segment.times * TIME_ENTRY_BYTES,
        (char *)segment.produced, (Py_ssize_t)segment.producers * PRODUCER_FIELDS * 8);
}

/* store_entries(map, start, entries, entry_bytes) -> None

   Entries of 8 or 12 bytes into the map of an index, where other processes read: one after the other, each as one word of 8 bytes;
   of 12, the word last, which is what tells that it is there. */
TAKES(store_entries)
{
    long long start, entry_bytes;
    Py_buffer map, entries;
    if (!takes("store_entries", 4, count) || take_numbers(args + 1, 1, &start) || take_numbers(args + 3, 1, &entry_bytes)
        || take_bytes(args[2], &entries))
        return NULL;
    if (PyObject_GetBuffer(args[0], &map, PyBUF_WRITABLE)) {
        PyBuffer_Release(&entries);
        return NULL;
    }
    int is_within = (entry_bytes == OFFSET_ENTRY_BYTES || entry_bytes == TIME_ENTRY_BYTES) && entries.len % entry_bytes == 0 && start >= 0
        && start % 4 == 0 && start <= map.len && entries.len <= map.len - start;
    if (is_within) {
        uint8_t *to = (uint8_t *)map.buf + start;
        for (bytes_t from = entries.buf, end = from + entries.len; from < end; from += entry_bytes, to += entry_bytes) {
            uint64_t word;
            __builtin_memcpy(&word, from, 8);
            if (entry_bytes == TIME_ENTRY_BYTES)
                __builtin_memcpy(to + 8, from + 8, 4);
            __atomic_thread_fence(__ATOMIC_RELEASE);
            __builtin_memcpy(to, &word, 8);
            __atomic_thread_fence(__ATOMIC_RELEASE);
        }
    } else
        PyErr_SetString(PyExc_ValueError, "store_entries: entries of another length, or outside of the map");
    PyBuffer_Release(&map);
    PyBuffer_Release(&entries);
    if (!is_within)
        return NULL;
    Py_RETURN_NONE;
}
