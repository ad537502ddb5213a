/* Batches of a segment, or of what a Fetch brought, into columns: many in a call, without the GIL.

   Stand for arrow/python_walk.py. What a walk stops at, WALK_*, is the caller's to deal with; a batch that contradicts itself is
   one of these, and the caller says what is wrong. */
#include "batch.h"
#include "target.h"

#define SOURCES_MAX 64

enum { WALK_END, WALK_FULL, WALK_LISTED, WALK_DONE, WALK_PAUSED, WALK_OLD, WALK_ROOM, WALK_BAD = -1, WALK_CHECKSUM = -2 };
enum { LISTED_POSITION, LISTED_SIZE, LISTED_ATTRIBUTES, LISTED_COUNT, LISTED_BASE_OFFSET, LISTED_BASE_MS, LISTED_APPEND_MS, LISTED_FIELDS };

/* Whether a transactional batch of a producer that begins at `offset` belongs to an aborted transaction.
   aborted   `length` producers, then first offsets, then last offsets; sorted */
static int is_in_aborted(const int64_t *aborted, int64_t length, int64_t producer_id, int64_t offset)
{
    int64_t low = 0, high = length;
    while (low < high) { /* the first entry after (producer id, offset) */
        int64_t middle = (low + high) / 2;
        if (aborted[middle] < producer_id || (aborted[middle] == producer_id && aborted[length + middle] <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && aborted[low - 1] == producer_id && offset <= aborted[2 * length + low - 1];
}

typedef struct {
    bytes_t data;
    int64_t end, pause, low, high, buffer, is_checked;
    const int64_t *aborted;
    int64_t aborted_length;
    int64_t *listed, listed_max;
} walk_t;

/* Moves position, row and how many are listed up to where it stops; WALK_*. */
static int walk(const walk_t *to, target_t *target, int64_t *position, int64_t *row, int64_t *listed)
{
    while (to->end - *position >= HEADER_BYTES) {
        bytes_t at = to->data + *position;
        if (*position >= to->pause)
            return WALK_PAUSED;
        if (*listed == to->listed_max)
            return WALK_LISTED;
        int64_t base_offset = entry_offset(at), size = entry_size(at);
        int magic = entry_magic(at);
        if (magic < MAGIC_V2) /* whose first field is the offset of its last record */
            return WALK_OLD;
        if (base_offset >= to->high)
            return WALK_DONE;
        if (magic != MAGIC_V2 || size < HEADER_BYTES || size > to->end - *position)
            return WALK_BAD;
        if (to->is_checked && batch_crc(at, size) != read_batch_header(at).crc)
            return WALK_CHECKSUM;
        batch_header_t header = read_batch_header(at);
        int attributes = header.attributes;
        int64_t last_offset = base_offset + (uint32_t)header.last_delta; /* without a sign, as the count: what is negative is too large */
        int is_left_out = attributes & CONTROL_BIT || last_offset < to->low;
        if (attributes & TRANSACTIONAL_BIT && !is_left_out && to->aborted_length)
            is_left_out = is_in_aborted(to->aborted, to->aborted_length, header.producer_id, base_offset);
        batch_t batch = {
            .count = (uint32_t)header.count, .base_offset = base_offset, .base_ms = header.base_ms,
            .append_ms = attributes & LOG_APPEND_TIME_BIT ? header.max_ms : -1,
        };
        if (!is_left_out && attributes & CODEC_MASK) {
            int64_t *fields = to->listed + LISTED_FIELDS * (*listed)++;
            fields[LISTED_POSITION] = *position;
            fields[LISTED_SIZE] = size;
            fields[LISTED_ATTRIBUTES] = attributes;
            fields[LISTED_COUNT] = batch.count;
            fields[LISTED_BASE_OFFSET] = base_offset;
            fields[LISTED_BASE_MS] = batch.base_ms;
            fields[LISTED_APPEND_MS] = batch.append_ms;
        } else if (!is_left_out) {
            if (*listed)
                return WALK_LISTED;
            if (batch.count > (size - HEADER_BYTES) / RECORD_BYTES_MIN)
                return WALK_BAD;
            if (batch.count > target->capacity - *row)
                return WALK_FULL;
            if (!has_room(target, size - HEADER_BYTES))
                return WALK_ROOM;
            int64_t found = put_records(target, to->data, (int32_t)to->buffer, at + HEADER_BYTES, at + size, &batch, to->low, to->high, *row);
            if (found < 0)
                return WALK_BAD;
            *row = found;
        }
        *position += size;
        if (last_offset >= to->high - 1)
            return WALK_DONE;
    }
    return WALK_END;
}

/* walk_batches(data, position, end, pause, low, high, row, buffer, is_checked, aborted, target, listed)
       -> (position, row, WALK_*, how many are listed)

   Uncompressed batches go into the target. Compressed ones are listed, as many as follow one another and as fit: their rows come
   after `row` and before what lies at the position.

   pause        no batch is begun at or after this position, so that a caller can bound what it gathers
   low, high    offsets outside of low <= offset < high are left out; nothing after the batch of high - 1 is touched
   buffer       number of the Arrow buffer that `data` is, for views
   is_checked   compare each batch with its checksum
   aborted      int64 (3, transactions): producer, first and last offset of those to leave out, sorted; control batches always are
   listed       int64 (room, LISTED_FIELDS) */
TAKES(walk_batches)
{
    long long numbers[8];
    Py_buffer data, aborted, listed;
    target_t target;
    PyObject *found = NULL;
    if (!takes("walk_batches", 12, count) || take_numbers(args + 1, 8, numbers) || take_bytes(args[0], &data))
        return NULL;
    if (take_bytes(args[9], &aborted))
        goto release_data;
    if (PyObject_GetBuffer(args[11], &listed, PyBUF_WRITABLE))
        goto release_aborted;
    int64_t position = numbers[0], row = numbers[5], listings = 0;
    walk_t to = {
        .data = data.buf, .end = numbers[1], .pause = numbers[2], .low = numbers[3], .high = numbers[4], .buffer = numbers[6],
        .is_checked = numbers[7], .aborted = aborted.buf, .aborted_length = aborted.len / 24,
        .listed = listed.buf, .listed_max = listed.len / 8 / LISTED_FIELDS,
    };
    if (take_target(args[10], row, &target))
        goto release;
    int has_views = (target.key.out && !target.key.ends) || (target.value.out && !target.value.ends);
    if (position < 0 || to.end < position || to.end > data.len || aborted.len % 24 || !to.listed_max
        || ((uintptr_t)to.aborted | (uintptr_t)to.listed) & 7 || (has_views && (data.len > INT32_MAX || to.buffer != (int32_t)to.buffer))) {
        PyErr_SetString(PyExc_ValueError, "walk_batches: a position outside of the data, or arrays of another kind");
        goto release;
    }
    int outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = walk(&to, &target, &position, &row, &listings);
    Py_END_ALLOW_THREADS
    add_sums(&target);
    found = Py_BuildValue("(LLiL)", (long long)position, (long long)row, outcome, (long long)listings);
release:
    release_target(&target);
    PyBuffer_Release(&listed);
release_aborted:
    PyBuffer_Release(&aborted);
release_data:
    PyBuffer_Release(&data);
    return found;
}

/* walk_listed(sources, first, listed, low, high, row, buffer, target) -> (how many were walked, row, WALK_*)

   The records of batches that were listed, from number `first` on, each decompressed to one of `sources` (at most SOURCES_MAX), which are
   Arrow buffers of the numbers from `buffer` on. WALK_END: all of them. */
TAKES(walk_listed)
{
    long long numbers[4], first;
    Py_buffer sources[SOURCES_MAX], listed;
    Py_ssize_t held = 0, length;
    target_t target;
    PyObject *found = NULL;
    if (!takes("walk_listed", 8, count) || take_numbers(args + 1, 1, &first) || take_numbers(args + 3, 4, numbers))
        return NULL;
    if (!PyList_Check(args[0]) || (length = PyList_GET_SIZE(args[0])) > SOURCES_MAX) {
        PyErr_Format(PyExc_ValueError, "walk_listed: a list of at most %d sources", SOURCES_MAX);
        return NULL;
    }
    int64_t low = numbers[0], high = numbers[1], row = numbers[2], buffer = numbers[3];
    if (take_bytes(args[2], &listed))
        return NULL;
    memset(&target, 0, sizeof target);
    for (; held < length; held++) {
        if (take_bytes(PyList_GET_ITEM(args[0], held), &sources[held]))
            goto release;
        if (sources[held].len > INT32_MAX) {
            held++;
            PyErr_SetString(PyExc_ValueError, "walk_listed: a source that is too large");
            goto release;
        }
    }
    if (take_target(args[7], row, &target))
        goto release;
    if (first < 0 || first > listed.len / 8 / LISTED_FIELDS - length || (uintptr_t)listed.buf & 7 || buffer < 0 || buffer > INT32_MAX - SOURCES_MAX) {
        PyErr_SetString(PyExc_ValueError, "walk_listed: sources that are not listed");
        goto release;
    }
    Py_ssize_t walked = 0;
    int outcome = WALK_END;
    Py_BEGIN_ALLOW_THREADS
    for (; walked < length; walked++) {
        const int64_t *fields = (const int64_t *)listed.buf + LISTED_FIELDS * (first + walked);
        bytes_t at = sources[walked].buf;
        int64_t size = sources[walked].len;
        batch_t batch = {fields[LISTED_COUNT], fields[LISTED_BASE_OFFSET], fields[LISTED_BASE_MS], fields[LISTED_APPEND_MS]};
        if (batch.count < 0 || batch.count > size / RECORD_BYTES_MIN)
            outcome = WALK_BAD;
        else if (batch.count > target.capacity - row)
            outcome = WALK_FULL;
        else if (!has_room(&target, size))
            outcome = WALK_ROOM;
        if (outcome)
            break;
        int64_t after = put_records(&target, at, (int32_t)(buffer + walked), at, at + size, &batch, low, high, row);
        if (after < 0) {
            outcome = WALK_BAD;
            break;
        }
        row = after;
    }
    Py_END_ALLOW_THREADS
    add_sums(&target);
    found = Py_BuildValue("(nLi)", walked, (long long)row, outcome);
release:
    release_target(&target);
    while (held--)
        PyBuffer_Release(&sources[held]);
    PyBuffer_Release(&listed);
    return found;
}

/* whole_end(data, position, end, high) -> where the last whole batch or old entry before `end` ends, at most the one that holds
   offset high - 1. Nothing after that one is touched. An invalid length ends it: `walk_batches` says what is wrong there. */
TAKES(whole_end)
{
    long long numbers[3];
    Py_buffer data;
    if (!takes("whole_end", 4, count) || take_numbers(args + 1, 3, numbers) || take_bytes(args[0], &data))
        return NULL;
    int64_t position = numbers[0], end = numbers[1], high = numbers[2];
    if (position < 0 || end < position || end > data.len) {
        PyErr_SetString(PyExc_ValueError, "whole_end: a position outside of the data");
        PyBuffer_Release(&data);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    while (end - position >= ENTRY_BYTES_MIN) {
        bytes_t at = (bytes_t)data.buf + position;
        int64_t offset = entry_offset(at), last_offset = offset, size = entry_size(at);
        if (size < ENTRY_BYTES_MIN || size > end - position)
            break;
        if (entry_magic(at) >= MAGIC_V2) {
            if (size < HEADER_BYTES || offset >= high)
                break;
            last_offset = offset + (uint32_t)read_batch_header(at).last_delta;
        }
        position += size;
        if (last_offset >= high - 1)
            break;
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    return PyLong_FromLongLong(position);
}
