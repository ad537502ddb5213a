/* Where a walk over batches puts what it finds in a record: memory of the caller's, row i of a chunk at index i of each.

   The caller gives it as a tuple, arrow/decode.py (`Target`), whose arrays are held as long as a walk lasts:

   capacity         rows that fit
   columns          int64, wanted fields of `capacity` each
   slots            int64, by field its row in `columns`, -1 if it is not wanted; FIELD_OFFSET always is
   key, value       None, if they are not wanted; else Arrow's views, 16 bytes a row, or bytes that are copied one after the other
   .. ends          None for views; int32, a row more than fit: where each copy ends
   .. validity      Arrow's bitmap, preset to ones
   sums             int64, by SUM_*; added to */
#ifndef HEADRACE_TARGET_H
#define HEADRACE_TARGET_H

#include "kernel.h"
#include "record.h"

enum { FIELD_OFFSET, FIELD_TIMESTAMP, FIELD_TYPE, FIELD_KEY_LENGTH, FIELD_VALUE_LENGTH, FIELD_HEADERS_START, FIELD_HEADERS_LENGTH, FIELDS };
enum { SUM_KEY_NULLS, SUM_VALUE_NULLS, SUM_BYTES, SUM_BODY_MAX, SUMS };
enum { OF_CAPACITY, OF_COLUMNS, OF_SLOTS, OF_KEY, OF_VALUE = OF_KEY + 3, OF_SUMS = OF_VALUE + 3, PARTS_OF_TARGET };

#define VIEW_BYTES 16
#define VIEW_INLINE_MAX 12

/* Keys or values. */
typedef struct {
    uint8_t *out;      /* NULL: not wanted */
    int32_t *ends;     /* NULL: views */
    uint8_t *validity;
    int64_t room, used; /* of copies, bytes */
    int64_t nulls;
} place_t;

typedef struct {
    int64_t capacity;
    int64_t *fields[FIELDS]; /* NULL: not wanted */
    place_t key, value;
    int64_t *sums;
    int64_t bytes, body_max;
    Py_buffer held[PARTS_OF_TARGET];
    int has[PARTS_OF_TARGET];
} target_t;

/* -1 with an exception where it is none, or `row` does not lie in it. Let go of by `release_target` in any case. */
int take_target(PyObject *from, int64_t row, target_t *target);
void release_target(target_t *target);

/* What a walk adds to the sums, once it is known to be right. */
void add_sums(const target_t *target);

typedef struct {
    int64_t count, base_offset, base_ms, append_ms; /* append_ms: the batch's time under LogAppendTime, else -1 */
} batch_t;

/* The records of a batch, at..end, from `row` on; the row after the last one, or -1 where they contradict themselves.

   source   where the Arrow buffer of number `buffer` begins, in which they lie
   Records outside of low <= offset < high are left out. `has_room` has been asked. */
int64_t put_records(target_t *target, bytes_t source, int32_t buffer, bytes_t at, bytes_t end, const batch_t *batch, int64_t low, int64_t high, int64_t row);

/* Whether copies of all keys and values that so many bytes of records may hold fit. */
static inline int has_room(const target_t *target, int64_t body)
{
    return (!target->key.ends || body <= target->key.room - target->key.used)
        && (!target->value.ends || body <= target->value.room - target->value.used);
}

#endif
