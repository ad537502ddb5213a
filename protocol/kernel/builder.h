/* A batch being built, as far as its neighbours see it (batch_builder.c). */
#ifndef HEADRACE_BUILDER_H
#define HEADRACE_BUILDER_H

#include "batch.h"
#include "span.h"

#define BATCH_BYTES_MAX INT32_MAX

typedef struct {
    PyObject_HEAD
    uint8_t *data; /* NULL before the first record */
    long long capacity, used; /* both with the header's room */
    long long count, first_ms, max_ms;
    Py_ssize_t views; /* buffers that others hold: nothing is written meanwhile */
} builder_t;

typedef struct {
    span_t name;
    held_t value;
} header_t;

typedef struct {
    const header_t *first;
    Py_ssize_t count;
    int64_t bytes; /* with the varint of their count */
} headers_t;

static const headers_t no_headers = {.first = NULL, .count = 0, .bytes = 1};

extern PyTypeObject *builder_type; /* once the module is made */

/* Room for so many bytes at least; -1 with an exception. */
int grow_builder(builder_t *self, int64_t needed);

/* An exception: a view of the records is held. */
void refuse_views(void);

/* A list or a tuple; 0 with an exception where it is neither. */
int take_list(PyObject *from, const char *name);

/* A key and a value of any kind that is taken, both in hand of the caller: as `put_record` returns. */
int put_held(builder_t *self, PyObject *value, PyObject *key, Py_ssize_t index, int64_t time_ms, int64_t limit);

static inline int64_t sized_bytes(span_t span)
{
    return zigzag_bytes(span.size) + (span.size > 0 ? span.size : 0);
}

static inline uint8_t *write_span(uint8_t *at, span_t span)
{
    at = write_zigzag(at, span.size);
    if (span.size <= 0)
        return at;
    memcpy(at, span.at, (size_t)span.size);
    return at + span.size;
}

/* 1: written; 0: it would pass the limit, and is not the first; -1 with an exception. No code of Python's runs in here. */
static inline __attribute__((always_inline)) int put_record(
    builder_t *self, int64_t time_ms, span_t key, span_t value, const headers_t *headers, int64_t limit)
{
    int64_t delta = 0;
    if (self->count && __builtin_sub_overflow(time_ms, self->first_ms, &delta)) {
        PyErr_Format(PyExc_ValueError, "timestamp_ms: %lld is 2**63 or more from the first record's %lld", (long long)time_ms, self->first_ms);
        return -1;
    }
    int64_t body = 1 + zigzag_bytes(delta) + zigzag_bytes(self->count) + sized_bytes(key) + sized_bytes(value) + headers->bytes;
    int64_t whole = zigzag_bytes(body) + body;
    if (self->count && whole > limit - self->used)
        return 0;
    if (whole > BATCH_BYTES_MAX - self->used) {
        PyErr_Format(PyExc_ValueError, "a record of %lld bytes does not fit into a batch of %lld: the limit is %d", (long long)whole, self->used,
            BATCH_BYTES_MAX);
        return -1;
    }
    if (self->views) {
        refuse_views();
        return -1;
    }
    if (self->used + whole > self->capacity && grow_builder(self, self->used + whole))
        return -1;
    uint8_t *at = write_zigzag(self->data + self->used, body);
    *at++ = 0; /* attributes */
    at = write_zigzag(at, delta);
    at = write_zigzag(at, self->count);
    at = write_span(at, key);
    at = write_span(at, value);
    at = write_zigzag(at, headers->count);
    for (Py_ssize_t index = 0; index < headers->count; index++) {
        at = write_span(at, headers->first[index].name);
        at = write_span(at, headers->first[index].value.span);
    }
    if (!self->count)
        self->first_ms = self->max_ms = time_ms;
    else if (time_ms > self->max_ms)
        self->max_ms = time_ms;
    self->count++;
    self->used = at - self->data;
    return 1;
}

/* The same for a record without headers, of a key and a value that are nearly always bytes or None. */
static inline int put_listed(builder_t *self, PyObject *value, PyObject *key, Py_ssize_t index, int64_t time_ms, int64_t limit)
{
    span_t value_span, key_span;
    if (plain_span(key, &key_span) && plain_span(value, &value_span))
        return put_record(self, time_ms, key_span, value_span, &no_headers, limit);
    return put_held(self, value, key, index, time_ms, limit);
}

#endif
