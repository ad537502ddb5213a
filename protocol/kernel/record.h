/* One record of format v2: the walk that all functions here share.

   record   length | attributes i8 | timestamp delta | offset delta | key | value | count | headers

   Agrees with protocol/record_batch.py, `walk_spans` and `walk_headers`: a length that is negative, whatever its amount, is null;
   everything that a record announces ends within it. */
#ifndef HEADRACE_RECORD_H
#define HEADRACE_RECORD_H

#include "varint.h"

#define RECORD_BYTES_MIN 7 /* each field in a byte */

typedef struct {
    bytes_t body;         /* after the length: its attributes */
    bytes_t end;
    uint64_t time_bits;
    bytes_t time_end;
    uint64_t offset_bits;
    bytes_t offset_at;
    bytes_t offset_end;
    uint64_t key_bits;    /* odd: null */
    bytes_t key;
    uint64_t value_bits;
    bytes_t value;
    bytes_t headers;      /* where their count is */
} record_t;

/* Position after so many bytes as announced, none where it is null; NULL where they pass `end`. */
static inline bytes_t skip_bytes(bytes_t at, bytes_t end, uint64_t bits)
{
    if (bits & 1)
        return at;
    return bits >> 1 <= (uint64_t)(end - at) ? at + (bits >> 1) : NULL;
}

/* Position of the headers' count, NULL where what comes before contradicts itself or passes `end`. */
static inline bytes_t read_record(bytes_t at, bytes_t end, record_t *record)
{
    uint64_t bits;
    if (!(at = read_zigzag(at, end, &bits)) || bits & 1 || bits >> 1 > (uint64_t)(end - at) || bits < 2 * (RECORD_BYTES_MIN - 1))
        return NULL;
    record->body = at;
    record->end = end = at + (bits >> 1);
    if (!(record->offset_at = record->time_end = read_zigzag(at + 1, end, &record->time_bits)))
        return NULL;
    if (!(record->offset_end = read_zigzag(record->offset_at, end, &record->offset_bits)))
        return NULL;
    if (!(record->key = read_zigzag(record->offset_end, end, &record->key_bits)))
        return NULL;
    if (!(at = skip_bytes(record->key, end, record->key_bits)))
        return NULL;
    if (!(record->value = read_zigzag(at, end, &record->value_bits)))
        return NULL;
    return record->headers = skip_bytes(record->value, end, record->value_bits);
}

/* Position after headers, NULL where they pass `end` or one has no key. */
static inline bytes_t skip_headers(bytes_t at, bytes_t end)
{
    uint64_t count, bits;
    if (at < end && !*at)
        return at + 1;
    if (!(at = read_zigzag(at, end, &count)) || count & 1 || count >> 1 > (uint64_t)(end - at))
        return NULL;
    for (count >>= 1; count; count--) {
        if (!(at = read_zigzag(at, end, &bits)) || bits & 1 || !(at = skip_bytes(at, end, bits)))
            return NULL;
        if (!(at = read_zigzag(at, end, &bits)) || !(at = skip_bytes(at, end, bits)))
            return NULL;
    }
    return at;
}

/* A whole record: its end, NULL where it is not what its length says. */
static inline bytes_t read_whole_record(bytes_t at, bytes_t end, record_t *record)
{
    at = read_record(at, end, record);
    return at && skip_headers(at, record->end) == record->end ? record->end : NULL;
}

/* Whether an offset delta is one that a reader takes: those of three bytes and more are compared with the last one. */
static inline int is_delta_right(const record_t *record, int64_t last_delta)
{
    if (record->offset_end - record->offset_at <= 2)
        return 1;
    return !(record->offset_bits & 1) && (int64_t)(record->offset_bits >> 1) <= last_delta;
}

/* Beyond 64 bits a timestamp is the last that fits. */
static inline int64_t saturated_sum(int64_t base, int64_t delta)
{
    int64_t sum;
    if (!__builtin_add_overflow(base, delta, &sum))
        return sum;
    return base < 0 ? INT64_MIN : INT64_MAX;
}

/* A null key or value has -1, as everywhere. */
static inline int64_t length_of(uint64_t bits)
{
    return bits & 1 ? -1 : (int64_t)(bits >> 1);
}

#endif
